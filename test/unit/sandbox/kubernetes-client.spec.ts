import { existsSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubernetesClient } from '../../../src/sandbox/kubernetes/client.js';
import { fakeApiServer, type FakeApiServer } from '../../fakes/exec-server.js';
import { cluster } from '../../system/sandbox/kubernetes-harness.js';

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

  it('that make a pod which nobody waits for any more take it back', async () => {
    const stop = new AbortController();
    const requests: string[] = [];
    const client = await clientOf(({ method = '', url }, response) => {
      const answer = (): void => {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
        requests.push(`${method} ${url ?? ''}`);
      };
      if (method === 'POST') {
        stop.abort(new Error('never mind'));
        setTimeout(answer, 100);
      } else answer();
    });
    await expect(client.createPod({ metadata: { name: 'late' } }, stop.signal)).rejects.toThrow('never mind');
    for (let tries = 0; requests.length < 2 && tries < 100; tries += 1) await sleep(20);
    expect(requests).toEqual(['POST /api/v1/namespaces/n/pods', expect.stringMatching(/^DELETE .*\/pods\/late\?/)]);
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
    await client.createPod({ metadata: { name: 'one' } }, new AbortController().signal);
    expect(asked).toBe(attempts);
  });

  it('that get no answer are made again, and a pod made late by an earlier attempt stays', async () => {
    const requests: string[] = [];
    let late: ServerResponse | undefined;
    const client = await clientOf(({ method = '' }, response) => {
      requests.push(method);
      if (late === undefined) late = response;
      else response.writeHead(409, { 'content-type': 'application/json' }).end('{"reason":"AlreadyExists"}');
    }, 500);
    await client.createPod({ metadata: { name: 'one' } }, new AbortController().signal);
    late?.writeHead(201, { 'content-type': 'application/json' }).end('{}');
    await sleep(300);
    expect(new Set(requests)).toEqual(new Set(['POST']));
    expect(requests.length).toBeGreaterThan(1);
  });

  it('that watch end when they are given up, even if the server never begins its answer', async () => {
    const stop = new AbortController();
    const client = await clientOf(() => {
      stop.abort(new Error('silent'));
    });
    await expect(client.watchPods({}, () => undefined, stop.signal)).rejects.toThrow('silent');
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
