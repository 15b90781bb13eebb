import { execFileSync } from 'node:child_process';
import type { ExecRequest, SandboxSession } from '../../../src/ports/sandbox.js';
import { FIXTURE_IMAGE } from '../../fixtures/fixture-image.js';
import { removeImage } from '../../fixtures/own-user-image.js';
import { dockerSandbox, go, spec } from './docker-harness.js';

const IMAGE = 'bestk-test/leads-into-repository:1';
/** An image whose variables lead into the repository and into folders in which others than root may write. */
const RECIPE = `FROM ${FIXTURE_IMAGE}
RUN mkdir -p /opt/kept/bin /testbed/tools /testbed/lib /opt/open /opt/linked/bin /root/bin && chmod 777 /opt/open && ln -s /testbed/tools /opt/linked/bin/link
ENV PATH=/opt/kept/bin:.:tools:/testbed/tools:/opt/linked/bin/link:/opt/open:/root/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
  BASH_ENV=/testbed/start.sh ENV=/testbed/start.sh TAR_OPTIONS=--checkpoint=1\\ --checkpoint-action=exec=/testbed/start.sh \\
  GIT_EXEC_PATH=/testbed/tools GIT_EXTERNAL_DIFF=/testbed/start.sh PERL5LIB=/testbed/lib \\
  GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=/testbed/start.sh
`;
const FOLDERS = ['/testbed', '/testbed/tools', '/opt/open', '/root/bin'];
const PROGRAMS =
  'sh env timeout git tar head tail sed grep find xargs rm mkdir chmod chown cat sort uniq wc tr sleep printf id ls'.split(
    ' ',
  );
const RAN = '/var/tmp/ran';
const hostile = { content: `#!/bin/sh\n/bin/echo "$0" >>${RAN}\nexit 1\n`, mode: 0o755 };

describe('bestk’s own commands', () => {
  const sandbox = dockerSandbox();
  let session: SandboxSession;

  beforeAll(async () => {
    const env = { ...process.env, DOCKER_BUILDKIT: '0' };
    execFileSync('docker', ['build', '-q', '--network', 'none', '-t', IMAGE, '-'], { input: RECIPE, env });
    session = await sandbox.open({ ...spec, image: IMAGE, separatesUsers: true }, go);
    const programs = FOLDERS.flatMap((folder) => PROGRAMS.map((name) => `${folder}/${name}`));
    await session.writeFiles(
      [...programs, '/testbed/start.sh'].map((path) => ({ path, ...hostile })),
      go,
    );
  });

  afterAll(async () => {
    await sandbox.closeAll();
    removeImage(IMAGE);
  });

  const stdoutOf = async (script: string, more: Partial<ExecRequest> = {}): Promise<string> =>
    (await session.exec({ argv: ['sh', '-c', script], deadlineS: 30, ...more }, go)).stdout;
  const hasRun = async (): Promise<string> => stdoutOf(`/bin/cat ${RAN} 2>/dev/null; /bin/rm -f ${RAN}`);

  it.each(['image', 'root'] as const)('run no program of the repository as %s', async (as) => {
    const version = PROGRAMS.filter((name) => !['sh', 'sleep'].includes(name)).map((name) => `${name} --version`);
    const said = await stdoutOf(`${version.join('; ')}; git status --short calc.py; git diff HEAD -- calc.py`, { as });
    expect(said).toContain('git version');
    expect(await hasRun()).toBe('');
  });

  it('have HOME and what they ask for, but nothing else of the image’s variables', async () => {
    const said = await stdoutOf('/usr/bin/env | sort', { env: { A: 'b c', LC_ALL: 'C' } });
    expect(said).toBe(
      'A=b c\nHOME=/root\nLC_ALL=C\nPATH=/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/kept/bin\nPWD=/testbed\n',
    );
  });

  it('carry files into and out of memory file systems, and end tests, without them', async () => {
    await session.writeFiles([{ path: '/tmp/a', content: 'text' }], go);
    expect(Buffer.from((await session.readFile('/tmp/a', 9, go)) ?? []).toString()).toBe('text');
    const late = await session.exec({ argv: ['sleep', '9'], deadlineS: 1, survivesTimeout: true }, go);
    expect(late).toMatchObject({ kind: 'timed-out', survived: true });
    expect(await hasRun()).toBe('');
  });

  it('load no library of the repository', async () => {
    const image = `${IMAGE}-library`;
    const env = { ...process.env, DOCKER_BUILDKIT: '0' };
    const input = `FROM ${IMAGE}\nENV LD_LIBRARY_PATH=/testbed/lib LD_PRELOAD=/testbed/lib/libfirst.so\n`;
    execFileSync('docker', ['build', '-q', '--network', 'none', '-t', image, '-'], { input, env });
    const own = await sandbox.open({ ...spec, image, separatesUsers: true }, go);
    await own.writeFiles([{ path: '/testbed/lib/libc.so.6', content: 'no library' }], go);
    const said = await own.exec({ argv: ['git', '--version'], deadlineS: 30 }, go);
    expect(said).toMatchObject({ exitCode: 0, stderr: '' });
    await own.close();
    removeImage(image);
  });

  it('leave tests the image’s own programs and variables', async () => {
    const argv = ['/bin/sh', '-c', 'echo "$PATH $PERL5LIB"'];
    const { stdout } = await session.exec({ argv, as: 'tests', environment: 'image', deadlineS: 30 }, go);
    expect(stdout).toMatch(/^\/opt\/kept\/bin:\.:tools:\/testbed\/tools:.* \/testbed\/lib\n$/);
  });
});
