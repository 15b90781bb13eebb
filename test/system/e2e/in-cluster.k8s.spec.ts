import { mkdtempSync, chmodSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type Cluster } from '../../../scripts/setup/postgres.mjs';
import { describeOnCluster } from '../sandbox/describe-on-cluster.js';
import { kubectl, kubectlBeside } from '../sandbox/kubernetes-harness.js';
import { calcPatch, calculatorIssue, candidate, RIGHT, script } from '../../fixtures/calculator.js';
import { allManifests, type Manifest } from '../../fixtures/deployment.js';
import { forward } from '../../fixtures/forwarder.js';
import { until } from '../../fixtures/run-world.js';

const NAMESPACE = 'bestk';
const KEY = 'a-key-of-the-test';
/** Pods see the node there, and the test cluster has neither kube-proxy nor a name server. */
const NODE = '10.77.0.1';
const API = { host: 'kubernetes.default', port: 16443 };
const SMALL = { cpu: '50m', memory: '128Mi', 'ephemeral-storage': '64Mi' };
const SETTINGS = {
  BESTK_SANDBOX_CONCURRENCY: '1',
  BESTK_SANDBOX_MEMORY_MB: '256',
  BESTK_SANDBOX_DISK_MB: '256',
  BESTK_KUBERNETES_POD: '{resources: {requests: {cpu: 0.1}}}',
};
const K = 6;

interface Run {
  readonly id: string;
  readonly status: string;
}

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
}

/** As an operator applies it, but for what one small node without a network of services lacks. */
function adapted(manifest: Manifest): Manifest {
  if (manifest.kind === 'ConfigMap') manifest.data = { ...manifest.data, ...SETTINGS };
  const pod = manifest.spec?.template?.spec;
  if (pod === undefined || manifest.kind === 'DaemonSet') return manifest;
  pod.hostAliases = [{ ip: NODE, hostnames: [API.host] }];
  for (const container of pod.containers) {
    container.resources = { requests: SMALL, limits: { cpu: '2', memory: '1Gi', 'ephemeral-storage': '1Gi' } };
    container.env?.push(
      { name: 'KUBERNETES_SERVICE_HOST', value: API.host },
      { name: 'KUBERNETES_SERVICE_PORT', value: String(API.port) },
    );
  }
  return manifest;
}

describeOnCluster('service and workers in a cluster', () => {
  let postgres: Cluster;
  let forwarders: { close(): void }[] = [];
  let volume: string;
  let url: string;
  /** Beside this process, through which the pods reach the API server and the database. */
  const inNamespace = (...args: string[]): Promise<string> => kubectlBeside('-n', NAMESPACE, ...args);
  const apply = (object: object): string =>
    kubectl({ input: JSON.stringify(object) }, '-n', NAMESPACE, 'apply', '-f', '-');
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

  beforeAll(async () => {
    postgres = await startCluster();
    volume = mkdtempSync(join(tmpdir(), 'bestk-volume-'));
    chmodSync(volume, 0o777);
    const storage = { capacity: { storage: '20Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: volume } };
    apply({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'bestk-test' }, spec: storage });
    const POSTGRES_URL = postgres.url.replace('127.0.0.1', NODE);
    apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
    apply({
      ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'bestk-secrets', namespace: NAMESPACE } },
      stringData: { POSTGRES_URL, BESTK_API_KEYS: KEY },
    });
    apply(allManifests(adapted));
    forwarders = await Promise.all([API.port, postgres.port].map((port) => forward(NODE, port)));
    for (const each of ['statefulset/bestk', 'deployment/bestk-worker'])
      await inNamespace('rollout', 'status', each, '--timeout=120s');
    url = `http://${await inNamespace('get', 'pod', 'bestk-0', '-o', 'jsonpath={.status.podIP}')}:8080`;
  }, 180_000);

  afterAll(async () => {
    for (const object of [`namespace/${NAMESPACE}`, 'persistentvolume/bestk-test'])
      await kubectlBeside('delete', object, '--ignore-not-found');
    for (const forwarder of forwarders) forwarder.close();
    await postgres.destroy();
    rmSync(volume, { recursive: true, force: true });
  });

  const ask = async (path: string, body?: object): Promise<unknown> => {
    const method = body === undefined ? 'GET' : 'POST';
    const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return answer.json();
  };
  /** A run of which nothing is stored yet: each has a slow test of its own. */
  const submit = async (n: number): Promise<string> => {
    const wrong = Array.from({ length: K - 1 }, (_, value) =>
      calcPatch('def add(a, b):', `    return ${String(value)}`),
    );
    const candidates = [RIGHT, ...wrong].map((patch, at) => candidate(`c${String(at)}`, patch));
    const slow = script(
      'slow',
      'import sys, time',
      'from calc import add',
      `time.sleep(2)`,
      `sys.exit(add(${String(n)}, 3) != ${String(n + 3)})`,
    );
    return ((await ask('/v1/runs', { issue: calculatorIssue, candidates, tests: [slow], verifiers: ['eb'] })) as Run)
      .id;
  };
  const ended = async (id: string): Promise<Run> => {
    let run: Run | undefined;
    await until(async () => {
      await sleep(200);
      run = (await ask(`/v1/runs/${id}`)) as Run;
      return run.status !== 'queued' && run.status !== 'running';
    }, 150_000);
    return run as unknown as Run;
  };
  const sandboxes = async (...selector: string[]): Promise<string[]> => {
    const names = await inNamespace('get', 'pods', '-l', ['bestk=1', ...selector].join(','), '-o', 'name');
    return names.split('\n').filter(Boolean);
  };
  const expectRight = async (id: string): Promise<void> => {
    const run = await ended(id);
    expect(run).toMatchObject({ status: 'done', failure: null });
    const patch = await (await fetch(`${url}/v1/runs/${id}/patch`, { headers })).text();
    expect(patch).toBe(RIGHT);
  };

  it('share a run over HTTP, each with sandboxes of its own, by the account of their pods', async () => {
    const id = await submit(1);
    await expectRight(id);
    const answer = await fetch(`${url}/v1/runs/${id}/events`, { headers });
    const hosts = [...(await answer.text()).matchAll(/"worker":"([^:"]+):/g)].map(([, host]) => host ?? '');
    expect(new Set(hosts.filter((host) => host.startsWith('bestk-worker-'))).size).toBe(2);
    expect(await sandboxes()).toEqual([]);
  }, 180_000);

  it('go on when a worker’s pod is killed, and the cluster removes its sandboxes', async () => {
    const id = await submit(2);
    let victim: Pod | undefined;
    await until(async () => {
      const workers = JSON.parse(await inNamespace('get', 'pods', '-l', 'app=bestk-worker', '-o', 'json')) as {
        items: Pod[];
      };
      for (const worker of workers.items)
        if ((await sandboxes(`bestk.worker=${worker.metadata.uid}`)).length > 0) victim = worker;
      return victim !== undefined;
    });
    const { name, uid } = (victim as unknown as Pod).metadata;
    await inNamespace('delete', 'pod', name, '--grace-period=0', '--force');
    await expectRight(id);
    await until(async () => (await sandboxes(`bestk.worker=${uid}`)).length === 0);
    expect(await sandboxes()).toEqual([]);
  }, 180_000);

  it('are checked by doctor, beside which the service keeps its sandboxes', async () => {
    const id = await submit(3);
    const doctor = await inNamespace(
      ...['exec', 'bestk-0', '--', 'bestk', 'doctor', '--image', calculatorIssue.environment.image],
    );
    expect(doctor).toMatch(/Kubernetes v1\./);
    expect(doctor).toMatch(/does not enforce NetworkPolicy/);
    await expectRight(id);
  }, 180_000);
});
