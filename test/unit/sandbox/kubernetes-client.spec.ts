import { existsSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubernetesClient } from '../../../src/sandbox/kubernetes/client.js';
import type { Pod } from '../../../src/sandbox/kubernetes/pod-spec.js';
import { Pods, PodWatch } from '../../../src/sandbox/kubernetes/pods.js';
import { fakeApiServer, type FakeApiServer } from '../../fakes/exec-server.js';
import { until } from '../../fixtures/run-world.js';
import { go, limits } from '../../fixtures/sandbox-commands.js';
import { cluster } from '../../system/sandbox/kubernetes-harness.js';

const THERE = [409, { reason: 'AlreadyExists' }] as const;

describe('calls to the API server', () => {
  let server: FakeApiServer | undefined;

  afterEach(() => server?.close());

  const clientOf = async (onRequest: RequestListener, callMs?: number): Promise<KubernetesClient> => {
    server = await fakeApiServer({ protocols: [], onRequest });
    return new KubernetesClient({ ...cluster, kubeconfig: server.kubeconfig, namespace: undefined }, callMs);
  };

  it('wait as long as they are asked to, and are counted', async () => {
    let asked = 0;
    const client = await clientOf((_, response) => {
      asked += 1;
      if (asked === 1) response.writeHead(429, { 'retry-after': '1' }).end('{"message":"too many"}');
      else if (asked === 2) response.writeHead(503).end('{}');
      else
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end('{"metadata":{"resourceVersion":"5"},"items":[]}');
    });
    const from = performance.now();
    expect(await client.listPods('a=b')).toMatchObject({ pods: [], version: '5' });
    expect(performance.now() - from).toBeGreaterThan(990);
    expect([asked, client.calls]).toEqual([3, 3]);
  });

  it.each([
    ['AlreadyExists', 1],
    ['Conflict', 2],
  ])('that make a pod take 409 %s for what it says', async (reason, attempts) => {
    let asked = 0;
    const client = await clientOf((_, response) => {
      const status = (asked += 1) === 1 ? 409 : 201;
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ reason }));
    });
    await client.createPod({ metadata: { name: 'one' } }, go, () => undefined);
    expect(asked).toBe(attempts);
  });

  it('that watch end when they are given up, even if the server never begins its answer', async () => {
    const stop = new AbortController();
    const client = await clientOf(() => {
      stop.abort(new Error('silent'));
    });
    await expect(client.watchPods({}, () => undefined, stop.signal)).rejects.toThrow('silent');
  });
});

describe('a pod whose creation is answered after the call was given up', () => {
  const plan = { image: 'x/y:1', purpose: 'test', separatesUsers: false, limits, ttlS: 60, preparation: [] };
  let server: FakeApiServer;
  let watch: PodWatch;
  let created: string[];
  let requests: string[];
  let late: ServerResponse | undefined;
  let deletion: number;

  beforeEach(() => {
    [created, requests, late, deletion] = [[], [], undefined, 404];
  });

  afterEach(async () => {
    watch.stop();
    await server.close();
  });

  const tell = (response: ServerResponse, [status, body]: readonly [number, object]): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

  /** On a server that holds back its answer to the first creation, and gives these to the next ones. */
  const podsWith = async (...creations: (readonly [number, object])[]): Promise<Pods> => {
    const answer = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
      const { method = '', url = '' } = request;
      const nth = requests.filter((one) => one === method).length;
      requests.push(method);
      if (method === 'POST') {
        created = [((await json(request)) as Required<Pod>).metadata.name ?? ''];
        if (nth === 0) late = response;
        else tell(response, creations[nth - 1] ?? THERE);
      } else if (method === 'DELETE') tell(response, [deletion, {}]);
      else if (url.includes('watch=true')) response.writeHead(200).flushHeaders();
      else tell(response, [200, { metadata: {}, items: created.map((name) => ({ metadata: { name } })) }]);
    };
    server = await fakeApiServer({ protocols: [], onRequest: (...given) => void answer(...given) });
    const options = { ...cluster, kubeconfig: server.kubeconfig, namespace: undefined };
    const client = new KubernetesClient(options, 500);
    watch = new PodWatch(client, 'bestk=1');
    return new Pods(client, watch, options);
  };

  it('stays if it is in use, even if the quota had no room for it meanwhile', async () => {
    const pods = await podsWith([403, { message: 'exceeded quota' }]);
    const { name } = await pods.raise(plan, (pod) => pod.metadata?.name, go);
    tell(await until(() => late), [201, {}]);
    await sleep(300);
    expect(requests).not.toContain('DELETE');
    expect(created).toEqual([name]);
  });

  it('is deleted if nobody waits for it any more, and left to the sweep if that fails', async () => {
    const pods = await podsWith();
    const stop = new AbortController();
    const raised = pods.raise(plan, () => true, stop.signal);
    const response = await until(() => late);
    stop.abort(new Error('never mind'));
    await expect(raised).rejects.toThrow('never mind');
    expect(pods.left).toEqual([]);
    deletion = 403;
    tell(response, [201, {}]);
    expect(await until(() => pods.left[0])).toBe(created[0]);
  });
});

// With a kubeconfig in its usual place a call of this test would reach that cluster.
const withoutCluster = existsSync(join(homedir(), '.kube/config')) ? it.skip : it;

withoutCluster('a process without kubeconfig and account is told what is missing', async () => {
  const { pod } = cluster;
  await expect(new KubernetesClient({ pod }).version()).rejects.toMatchObject({
    code: 'bad-input',
    place: { field: 'KUBECONFIG', file: '~/.kube/config' },
  });
});
