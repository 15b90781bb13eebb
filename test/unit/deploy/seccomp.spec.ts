import { SECCOMP_PROFILE, SECCOMP_PROFILE_PATH } from '../../../src/sandbox/container/seccomp-profile.js';
import { manifests } from '../../fixtures/deployment.js';

describe('the seccomp profile of sandboxes', () => {
  it('is installed on nodes under the path that pods ask for', () => {
    const [, { data = {} } = {}, daemons] = manifests('seccomp.yaml');
    const [folder, file = ''] = SECCOMP_PROFILE_PATH.split('/');
    expect(Object.keys(data)).toEqual([file]);
    expect(JSON.parse(data[file] ?? '')).toEqual(SECCOMP_PROFILE);
    expect(daemons).toMatchObject({
      kind: 'DaemonSet',
      spec: {
        template: {
          spec: {
            volumes: expect.arrayContaining([
              {
                name: 'node',
                hostPath: { path: expect.stringMatching(`/seccomp/${folder}$`) as string, type: 'DirectoryOrCreate' },
              },
            ]) as unknown,
          },
        },
      },
    });
  });

  it('names each system call once', () => {
    const [{ names }] = SECCOMP_PROFILE.syscalls as unknown as [{ names: string[] }];
    expect(names).toHaveLength(new Set(names).size);
  });
});
