import { BadInputError } from '../../../src/core/errors/errors.js';
import { loadConfig } from '../../../src/app/config.js';

describe('settings of a cluster', () => {
  it('are Docker with as many containers as cores unless told otherwise', () => {
    const { sandbox } = loadConfig({});
    expect(sandbox).toMatchObject({ engine: 'docker', cluster: { pull: 'IfNotPresent', nonRoot: false } });
    expect(sandbox.concurrency).toBeLessThan(512);
    expect(loadConfig({ BESTK_SANDBOX: 'kubernetes' }).sandbox).toMatchObject({
      engine: 'kubernetes',
      concurrency: 512,
    });
  });

  it('are read as kubectl writes them', () => {
    const { cluster } = loadConfig({
      KUBECONFIG: '/a:/b',
      BESTK_KUBERNETES_NODE_SELECTOR: 'pool=sandboxes, disk=',
      BESTK_KUBERNETES_TOLERATIONS: 'a=b:NoSchedule, c:NoExecute, d, e=f',
      BESTK_KUBERNETES_PULL_SECRETS: 'one, two',
      BESTK_KUBERNETES_WORKER_NAME: 'w',
      BESTK_KUBERNETES_WORKER_UID: 'u',
    }).sandbox;
    expect(cluster).toMatchObject({
      kubeconfig: '/a',
      nodeSelector: { pool: 'sandboxes', disk: '' },
      tolerations: [
        { key: 'a', value: 'b', effect: 'NoSchedule' },
        { key: 'c', effect: 'NoExecute' },
        { key: 'd' },
        { key: 'e', value: 'f' },
      ],
      pullSecrets: ['one', 'two'],
      worker: { name: 'w', uid: 'u' },
    });
  });

  it.each([
    ['BESTK_SANDBOX', 'podman'],
    ['BESTK_KUBERNETES_NODE_SELECTOR', 'pool'],
    ['BESTK_KUBERNETES_TOLERATIONS', 'a=b:Sometimes'],
    ['BESTK_KUBERNETES_NAMESPACE', 'No_Name'],
    ['BESTK_KUBERNETES_PULL', 'maybe'],
    ['BESTK_KUBERNETES_NON_ROOT', 'yes'],
  ])('%s may not be "%s"', (name, value) => {
    expect(() => loadConfig({ [name]: value })).toThrow(BadInputError);
    expect(() => loadConfig({ [name]: value })).toThrow(name);
  });
});
