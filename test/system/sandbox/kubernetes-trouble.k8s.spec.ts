import { setTimeout as sleep } from 'node:timers/promises';
import { BadInputError } from '../../../src/core/errors/errors.js';
import {
  EngineUnavailableError,
  ImagePullError,
  SandboxEvictedError,
  SandboxExpiredError,
  SandboxLostError,
  SandboxOutOfMemoryError,
  SandboxUnschedulableError,
} from '../../../src/core/errors/unavailable.js';
import type { KubernetesSandbox } from '../../../src/sandbox/kubernetes/sandbox.js';
import { CALLS, go, limits, sh, spec } from '../../fixtures/sandbox-commands.js';
import { onCluster } from '../../fixtures/cluster-processes.js';
import { describeOnCluster } from './describe-on-cluster.js';
import { kubectl, kubernetesSandbox, NAMESPACE, podNames, podWith } from './kubernetes-harness.js';

const QUOTA_NAMESPACE = 'bestk-test-quota';

const phaseOf = (pod = 'pod/none'): string =>
  kubectl({}, 'get', pod, '--ignore-not-found', '-o', 'jsonpath={.status.phase}');

describeOnCluster('trouble of a cluster', () => {
  const sandbox = kubernetesSandbox();
  const others: KubernetesSandbox[] = [];
  const sandboxWith = (options: Parameters<typeof kubernetesSandbox>[0]): KubernetesSandbox => {
    const other = kubernetesSandbox(options);
    others.push(other);
    return other;
  };

  afterEach(async () => {
    await Promise.all(others.splice(0).map((other) => other.closeAll()));
    const left = podNames();
    // What one test leaves is no fault of the next.
    await sandbox.closeAll();
    if (left.length > 0) kubectl({}, 'delete', ...left, '--ignore-not-found', '--grace-period=0', '--force');
    expect(left).toEqual([]);
  });

  it.each([
    [
      'that fits',
      { nodeSelector: { 'bestk.test/none': 'such' }, resources: { requests: { memory: '1Mi' } } },
      /node\(s\) didn't match/,
    ],
    ['that has room', { resources: { requests: { memory: '1000000Mi' } } }, /Insufficient memory/],
  ])('without a node %s is named, and the pod is taken back', async (_, template: object, said) => {
    const nowhere = sandboxWith({
      limits: { ...limits, memoryMb: 1_000_000 },
      cluster: { startS: 6, pod: podWith(template) },
    });
    const opening = nowhere.open(spec, go);
    await expect(opening).rejects.toBeInstanceOf(SandboxUnschedulableError);
    await expect(opening).rejects.toThrow(said);
  });

  it('that drains a node ends the command with it, and says so', async () => {
    const session = await sandbox.open(spec, go);
    const [pod = ''] = podNames().map((name) => name.replace('pod/', ''));
    const working = expect(sh(session, 'sleep 40', 60)).rejects.toBeInstanceOf(SandboxEvictedError);
    const eviction = { apiVersion: 'policy/v1beta1', kind: 'Eviction', metadata: { name: pod, namespace: NAMESPACE } };
    const path = `/api/v1/namespaces/${NAMESPACE}/pods/${pod}/eviction`;
    kubectl({ input: JSON.stringify(eviction) }, 'create', '--raw', path, '-f', '-');
    await working;
  });

  it('whose kernel killed a sandbox between two commands says that it was for memory', async () => {
    // With requests as large as the limits, every process starts with a score that it may raise far above the others'.
    const small = sandboxWith({ limits: { ...limits, memoryMb: 48 }, cluster: { pod: podWith({}) } });
    const session = await small.open(spec, go);
    const [pod] = podNames();
    // Process 1 is killed before the others. The daemon begins after the command that started it was over, whose own
    // outcome it would be otherwise.
    const daemon = 'sleep 3; echo 1000 >/proc/1/oom_score_adj; while :; do tail /dev/zero; done';
    expect(await sh(session, `setsid sh -c '${daemon}' >/dev/null 2>&1 &`)).toMatchObject({ exitCode: 0 });
    for (let tries = 0; tries < 60 && phaseOf(pod) === 'Running'; tries += 1) await sleep(500);
    // Nothing else of this test means anything while the kernel kills others than process 1.
    expect(phaseOf(pod)).toBe('Failed');
    await expect(sh(session, 'true')).rejects.toBeInstanceOf(SandboxOutOfMemoryError);
  });

  it('with an image says whether another try may help', async () => {
    const image = 'registry.invalid/none:1';
    const pulling = sandboxWith({ cluster: { pod: podWith({ imagePullPolicy: 'IfNotPresent' }), startS: 8 } });
    await expect(pulling.open({ ...spec, image }, go)).rejects.toMatchObject({ image, retryable: true });
    await expect(pulling.open({ ...spec, image: 'Bad__:::x' }, go)).rejects.toBeInstanceOf(BadInputError);
    await expect(sandbox.open({ ...spec, image }, go)).rejects.toMatchObject({
      code: 'image-pull-failed',
      retryable: false,
    });
    await expect(sandbox.describeImage(image, go)).rejects.toBeInstanceOf(ImagePullError);
  });

  it('whose node does not answer is no time-out of the command', async () => {
    const session = await sandbox.open(spec, go);
    await onCluster('stop', 'kubelet');
    try {
      await expect(sh(session, 'sleep 1', 1)).rejects.toBeInstanceOf(EngineUnavailableError);
    } finally {
      await onCluster('continue', 'kubelet');
    }
  }, 200_000);

  it('ends a pod that outlived its time', async () => {
    const brief = sandboxWith({ ttlS: 4 });
    const session = await brief.open(spec, go);
    await expect(sh(session, 'sleep 40', 60)).rejects.toBeInstanceOf(SandboxExpiredError);
  });

  it('with a pod that somebody deleted is noticed by every call', async () => {
    for (const call of CALLS) {
      const session = await sandbox.open(spec, go);
      kubectl({}, 'delete', ...podNames(), '--grace-period=0', '--force');
      await expect(call(session)).rejects.toBeInstanceOf(SandboxLostError);
    }
  });

  it('whose nodes lack the seccomp profile refuses sandboxes and says what to apply', async () => {
    const seccompProfile = { type: 'Localhost', localhostProfile: 'bestk/none.json' };
    const unprofiled = sandboxWith({ cluster: { pod: podWith({ securityContext: { seccompProfile } }) } });
    const refusal = { code: 'engine-unavailable', next: expect.stringContaining('seccomp.yaml') as string };
    await expect(unprofiled.open(spec, go)).rejects.toMatchObject(refusal);
    await expect(unprofiled.describeImage(spec.image, go)).rejects.toMatchObject(refusal);
  });

  it('whose operator chose the profile of the runtime is told that it is weaker', async () => {
    const warnings: string[] = [];
    const pod = podWith({ securityContext: { seccompProfile: { type: 'RuntimeDefault' } } });
    const weaker = sandboxWith({ warn: (text) => warnings.push(text), cluster: { pod } });
    await (await weaker.open(spec, go)).close();
    expect(warnings).toContainEqual(expect.stringContaining("container runtime's seccomp profile"));
  });

  it('that is not there is unavailable', async () => {
    const gone = sandboxWith({ cluster: { kubeconfig: '/dev/null', context: undefined } });
    await expect(gone.engineVersion()).rejects.toMatchObject({ code: 'bad-input', place: { field: 'KUBECONFIG' } });
    const forbidden = sandboxWith({ cluster: { namespace: 'bestk-no-such-namespace' } });
    await expect(forbidden.open(spec, go)).rejects.toBeInstanceOf(EngineUnavailableError);
  });

  it('with a quota makes the rest wait, and all get their turn', async () => {
    kubectl({}, 'create', 'namespace', QUOTA_NAMESPACE);
    try {
      kubectl({}, '-n', QUOTA_NAMESPACE, 'create', 'quota', 'few', '--hard=pods=2');
      const quota = sandboxWith({ concurrency: 6, cluster: { namespace: QUOTA_NAMESPACE } });
      const one = async (n: number): Promise<string> => {
        await using session = await quota.open(spec, go);
        return (await sh(session, `echo ${String(n)}`)).stdout;
      };
      expect(await Promise.all([1, 2, 3, 4, 5, 6].map(one))).toEqual(['1\n', '2\n', '3\n', '4\n', '5\n', '6\n']);
    } finally {
      kubectl({}, 'delete', 'namespace', QUOTA_NAMESPACE);
    }
  });

  it('with a network that is open is said once', async () => {
    const warnings: string[] = [];
    const warned = sandboxWith({ warn: (text) => warnings.push(text) });
    await (await warned.open(spec, go)).close();
    await (await warned.open(spec, go)).close();
    expect(warnings).toEqual([expect.stringMatching(/does not enforce NetworkPolicy .* reached 10\.77\.0\.1:10250/)]);
    expect(await warned.concerns(spec.image, go)).toEqual(warnings);
    expect(kubectl({}, 'get', 'networkpolicy', 'bestk-sandboxes', '-o', 'jsonpath={.spec}')).toBe(
      '{"podSelector":{"matchLabels":{"bestk":"1"}},"policyTypes":["Ingress","Egress"]}',
    );
  });

  it('does not show in a pod: no token, no privilege, its limits', async () => {
    await using session = await sandbox.open(spec, go);
    const [pod = ''] = podNames();
    const { spec: made, metadata } = JSON.parse(kubectl({}, 'get', pod, '-o', 'json')) as {
      spec: { containers: { resources: { limits: unknown } }[]; volumes: { name: string }[] };
      metadata: { labels: Record<string, string>; annotations: Record<string, string> };
    };
    expect(made).toMatchObject({
      automountServiceAccountToken: false,
      activeDeadlineSeconds: 600,
      restartPolicy: 'Never',
    });
    expect(made.volumes.map(({ name }) => name)).toEqual(['tmp', 'shm']);
    expect(made.containers[0]?.resources.limits).toEqual({ cpu: '1', memory: '256Mi', 'ephemeral-storage': '64Mi' });
    expect(metadata.annotations['bestk.purpose']).toBe(spec.purpose);
    const { stdout } = await sh(
      session,
      'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status; hostname; env; ulimit -c; cat /etc/resolv.conf; ls /var/run/secrets',
    );
    expect(stdout).toMatch(/CapBnd:\s+0{16}\n/);
    expect(stdout).toMatch(/CapEff:\s+0{16}\n/);
    expect(stdout).toMatch(/NoNewPrivs:\s+1\nSeccomp:\s+2\nsandbox\n/);
    expect(stdout).not.toMatch(/KUBERNETES|token/);
    expect(stdout).toMatch(/\n0\nnameserver 127\.0\.0\.1\n$/);
    expect(limits.memoryMb).toBe(256);
  });
});
