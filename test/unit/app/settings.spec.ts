import { BadInputError } from '../../../src/core/errors/errors.js';
import { loadConfig } from '../../../src/app/config.js';
import { podOf } from '../../../src/sandbox/kubernetes/pod-spec.js';
import { SECCOMP_PROFILE_PATH } from '../../../src/sandbox/container/seccomp-profile.js';

describe('settings of a cluster', () => {
  it('are Docker with as many containers as cores unless told otherwise', () => {
    const { sandbox } = loadConfig({});
    expect(sandbox).toMatchObject({ engine: 'docker', cluster: { pod: { imagePullPolicy: 'IfNotPresent' } } });
    expect(sandbox.concurrency).toBeLessThan(512);
    expect(loadConfig({ BESTK_SANDBOX: 'kubernetes' }).sandbox).toMatchObject({
      engine: 'kubernetes',
      concurrency: 512,
    });
  });

  it('add to every pod what a manifest would say', () => {
    const { cluster } = loadConfig({
      KUBECONFIG: '/a:/b',
      BESTK_KUBERNETES_POD: [
        'nodeSelector: { pool: sandboxes }',
        'tolerations: [{ key: a, operator: Exists, effect: NoSchedule }]',
        'imagePullSecrets: [{ name: one }]',
        'resources: { requests: { cpu: 0.5, memory: 1Gi } }',
        'securityContext: { runAsNonRoot: true }',
      ].join('\n'),
      BESTK_KUBERNETES_WORKER: 'w/u',
    }).sandbox;
    expect(cluster).toMatchObject({
      kubeconfig: '/a',
      worker: { name: 'w', uid: 'u' },
    });
    const plan = { name: 'p', image: 'i:1', purpose: 'test', separatesUsers: true, ttlS: 60, preparation: [] };
    const limits = { cpus: 2, memoryMb: 256, diskMb: 64, pids: 100, outputBytes: 1 };
    const { spec } = podOf({ ...plan, limits, isOwned: true }, cluster);
    expect(spec).toMatchObject({
      nodeSelector: { pool: 'sandboxes' },
      tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
      imagePullSecrets: [{ name: 'one' }],
      securityContext: {
        runAsNonRoot: true,
        seccompProfile: { type: 'Localhost', localhostProfile: SECCOMP_PROFILE_PATH },
      },
      automountServiceAccountToken: false,
    });
    expect(spec?.containers[0]).toMatchObject({
      imagePullPolicy: 'IfNotPresent',
      resources: { limits: { cpu: '2', memory: '256Mi' }, requests: { cpu: '0.5', memory: '1Gi' } },
      securityContext: { capabilities: { drop: ['ALL'] } },
    });
    expect(spec?.containers[0]?.securityContext?.capabilities).not.toHaveProperty('add');
  });

  it.each([
    ['BESTK_SANDBOX', 'podman'],
    ['BESTK_EF_OPTIONS', 'critic-score,critic-pooling'],
    ['BESTK_KUBERNETES_POD', 'nodeSelector: [pool]'],
    ['BESTK_KUBERNETES_POD', 'hostNetwork: true'],
    ['BESTK_KUBERNETES_POD', 'securityContext: { runAsUser: 0 }'],
    ['BESTK_KUBERNETES_POD', '{'],
    ['BESTK_KUBERNETES_NAMESPACE', 'No_Name'],
    ['BESTK_QUEUE_URL', 'mysql://db/bestk'],
  ])('%s may not be "%s"', (name, value) => {
    expect(() => loadConfig({ [name]: value })).toThrow(BadInputError);
    expect(() => loadConfig({ [name]: value })).toThrow(name);
  });
});

it('the queue is on the server of the store, or on another one: behind a pooler it would not work', () => {
  const DATABASE_URL = 'postgresql://bestk:secret@pooler/bestk';
  expect(loadConfig({ DATABASE_URL }).queue).toBe(DATABASE_URL);
  for (const url of ['redis://:secret@queue', 'postgresql://bestk:hidden@db/bestk']) {
    expect(loadConfig({ DATABASE_URL, BESTK_QUEUE_URL: url }).queue).toBe(url);
  }
});

describe('a variable that begins with BESTK_', () => {
  const refusalOf = (name: string): Pick<BadInputError, 'place' | 'next'> | null => {
    try {
      loadConfig({ [name]: 'x' });
      return null;
    } catch (error) {
      if (error instanceof BadInputError) return error;
      throw error;
    }
  };

  it.each([
    ['BESTK_VERIFER_MODEL', 'BESTK_VERIFIER_MODEL'],
    ['BESTK_SANDBOX_CONCURENCY', 'BESTK_SANDBOX_CONCURRENCY'],
    ['BESTK_PROMPT', 'BESTK_PROMPTS'],
    ['BESTK_LLM_TIMEOUT', 'BESTK_LLM_TIMEOUT_S'],
  ])('is refused if no program reads it: %s, with the nearest setting', (name, nearest) => {
    const refusal = refusalOf(name);
    expect(refusal?.place).toEqual({ file: 'environment', field: name });
    expect(refusal?.next).toContain(`Did you mean ${nearest}?`);
  });

  it('is refused without a guess if it resembles no setting', () => {
    expect(refusalOf('BESTK_SOMETHING_ELSE_ENTIRELY')?.next).toBe('Unset it. docs/settings.md lists all settings.');
  });

  it('may be set by Kubernetes for a service of that name', () => {
    const links = {
      BESTK_SERVICE_HOST: '10.96.0.7',
      BESTK_SERVICE_PORT: '80',
      BESTK_SERVICE_PORT_HTTP: '80',
      BESTK_PORT: 'tcp://10.96.0.7:80',
      BESTK_PORT_80_TCP: 'tcp://10.96.0.7:80',
      BESTK_PORT_80_TCP_ADDR: '10.96.0.7',
      BESTK_API_SERVICE_HOST: '10.96.0.8',
    };
    expect(() => loadConfig(links)).not.toThrow();
    expect(refusalOf('BESTK_PORT')?.next).toContain('docs/settings.md');
  });

  it('may belong to a client, to compose.yaml, or be empty', () => {
    expect(() => loadConfig({ BESTK_API_KEY: 'k', BESTK_URL: 'u', BESTK_IMAGE: 'i', BESTK_NONE: '' })).not.toThrow();
  });
});
