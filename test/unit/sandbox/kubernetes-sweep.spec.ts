import type { RequestListener } from 'node:http';
import { json } from 'node:stream/consumers';
import { podOf } from '../../../src/sandbox/kubernetes/pod-spec.js';
import { KubernetesSandbox } from '../../../src/sandbox/kubernetes/sandbox.js';
import { OWNER } from '../../../src/sandbox/container/sandbox-owner.js';
import { fakeApiServer, type FakeApiServer } from '../../fakes/exec-server.js';
import { limits } from '../../fixtures/sandbox-commands.js';
import { cluster } from '../../system/sandbox/kubernetes-harness.js';

const MADE = Date.parse('2026-01-01T00:00:00Z');
const LIFE_S = 600;
const HOUR_S = 3600;
const RUNNING = {
  status: {
    containerStatuses: [{ name: 'sandbox', imageID: `x/y@sha256:${'a'.repeat(64)}`, state: { running: {} } }],
  },
};
const after = (seconds: number): Date => new Date(MADE + seconds * 1000);

describe('sweep by time', () => {
  const { now } = Date;
  let server: FakeApiServer | undefined;

  afterEach(async () => {
    Date.now = now;
    await server?.close();
  });

  const sweepAt = async (status: object, annotations: object, headers: Record<string, string>): Promise<number> => {
    const metadata = { name: 'one', creationTimestamp: after(0), annotations };
    const pods = { items: [{ metadata, spec: { activeDeadlineSeconds: LIFE_S }, status }] };
    server = await fakeApiServer({
      protocols: [],
      onRequest: ({ method }, response) => {
        response.sendDate = false;
        response.writeHead(200, { 'content-type': 'application/json', ...headers });
        response.end(method === 'GET' ? JSON.stringify(pods) : '{}');
      },
    });
    const options = { ...cluster, kubeconfig: server.kubeconfig, namespace: undefined };
    return new KubernetesSandbox({ concurrency: 1, limits, ttlS: LIFE_S, cluster: options }).sweep();
  };

  const elsewhere = { 'bestk.owner': 'elsewhere:0:0/1/1' };
  const at = (seconds: number): Record<string, string> => ({ date: after(seconds).toUTCString() });

  it.each([
    ['leaves one that may still run', {}, at(LIFE_S), 0],
    ['takes one whose time is long over, whoever made it', {}, at(LIFE_S + 100), 1],
    ['counts from the start on a node', { startTime: after(HOUR_S) }, at(HOUR_S + LIFE_S), 0],
    ['takes one whose time on its node is over', { startTime: after(HOUR_S) }, at(HOUR_S + LIFE_S + 100), 1],
    ['judges by no clock where the cluster does not tell the time', {}, {}, 0],
  ])('%s', async (_, status, headers: Record<string, string>, taken) => {
    expect(await sweepAt(status, elsewhere, headers)).toBe(taken);
  });

  it('leaves a living one when the clock of this machine jumps', async () => {
    Date.now = () => after(HOUR_S).getTime();
    expect(await sweepAt({ startTime: after(1) }, { 'bestk.owner': OWNER }, at(2))).toBe(0);
  });
});

describe('a pod of this process', () => {
  interface Made {
    readonly metadata: { readonly labels: object; readonly ownerReferences?: object };
  }
  let pods: Made[];
  let deletions: string[];
  let refusals: number;
  let server: FakeApiServer;

  beforeEach(async () => {
    [pods, deletions, refusals] = [[], [], 0];
    server = await fakeApiServer({
      protocols: [],
      onRequest: (request, response) => {
        void answer(request, response);
      },
    });
  });

  const answer: (...given: Parameters<RequestListener>) => Promise<void> = async (request, response) => {
    const { method, url = '' } = request;
    if (method === 'DELETE') deletions.push(new URL(url, 'http://x').pathname.split('/').at(-1) ?? '');
    if (method === 'POST') pods.push({ ...((await json(request)) as Made), ...RUNNING });
    const status = method === 'DELETE' && refusals-- > 0 ? 403 : 200;
    response.writeHead(status, { 'content-type': 'application/json' });
    if (url.includes('watch=true')) response.flushHeaders();
    else response.end(JSON.stringify({ metadata: { resourceVersion: '1' }, items: pods }));
  };

  afterEach(() => server.close());

  const withSandbox = async (use: (sandbox: KubernetesSandbox) => Promise<void>): Promise<void> => {
    const worker = { name: 'w', uid: 'uid-1' };
    const options = { ...cluster, kubeconfig: server.kubeconfig, namespace: undefined, worker };
    const sandbox = new KubernetesSandbox({ concurrency: 1, limits, ttlS: LIFE_S, cluster: options });
    await use(sandbox).finally(() => sandbox.closeAll());
  };

  it('is removed by a sweep if its removal failed', async () => {
    refusals = 1;
    await withSandbox(async (sandbox) => {
      await expect(sandbox.describeImage('x/y:1', new AbortController().signal)).rejects.toThrow();
      expect(await sandbox.sweep()).toBe(1);
      expect(await sandbox.sweep()).toBe(0);
    });
    expect(deletions).toEqual([deletions[0], deletions[0]]);
  });

  it('is removed by a sweep even if another cannot be', async () => {
    const annotations = { 'bestk.owner': 'elsewhere:0:0/1/1' };
    const metadata = { labels: {}, annotations, creationTimestamp: after(0) };
    const expired = { spec: { activeDeadlineSeconds: LIFE_S }, status: {} };
    pods = ['one', 'two'].map((name) => ({ metadata: { ...metadata, name }, ...expired }));
    refusals = 1;
    await withSandbox(async (sandbox) => {
      await expect(sandbox.sweep()).rejects.toThrow();
    });
    expect(new Set(deletions)).toEqual(new Set(['one', 'two']));
  });

  it('in another namespace than the worker’s does not name it as owner, since the cluster would not find it', async () => {
    await withSandbox(async (sandbox) => {
      await sandbox.describeImage('x/y:1', new AbortController().signal);
    });
    const [pod] = pods;
    expect(pod?.metadata.labels).toMatchObject({ 'bestk.worker': 'uid-1' });
    expect(pod?.metadata.ownerReferences).toBeUndefined();
  });
});

it.each([
  ['in the worker’s namespace names it as owner', true, [{ apiVersion: 'v1', kind: 'Pod', name: 'w', uid: 'uid-1' }]],
  ['elsewhere has no owner', false, undefined],
])('a pod %s', (_, isOwned, owners) => {
  const plan = { name: 'p', image: 'i:1', purpose: 'test', separatesUsers: false, preparation: [] };
  const { metadata } = podOf(
    { ...plan, limits, ttlS: LIFE_S, isOwned },
    { ...cluster, worker: { name: 'w', uid: 'uid-1' } },
  );
  expect(metadata?.labels).toMatchObject({ 'bestk.worker': 'uid-1' });
  expect(metadata?.ownerReferences).toEqual(owners);
});
