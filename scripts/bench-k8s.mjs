// Times sandboxes on the test cluster against what the cluster itself needs: `npm run bench:k8s [-- sessions]`.
//   ready   opening a sandbox (pod, repository made ready) against a bare pod of the same image: by the API alone, and by
//           `kubectl run` and `kubectl wait`
//   exec    a command in a sandbox against `kubectl exec` in the same pod, from its first request to its end
//   queue   many sessions at once on a node with room for twenty
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { bringUp, kubectlArguments, needCluster } from './kubernetes/cluster.mjs';

const IMAGE = 'bestk/fixture:1';
const ROUNDS = 15;
const ROOM = 20;
const go = new AbortController().signal;
const spec = { image: IMAGE, workdir: '/testbed', baseCommit: null, purpose: 'bench' };

needCluster('bench:k8s');
const { environment, down } = await bringUp([IMAGE]);
const { KubernetesSandbox } = await import('../dist/src/sandbox/kubernetes/sandbox.js');
const { PodTemplate } = await import('../dist/src/sandbox/kubernetes/pod-spec.js');
const { connectCluster } = await import('../dist/src/sandbox/kubernetes/client.js');
const cluster = {
  kubeconfig: environment.BESTK_TEST_KUBECONFIG,
  namespace: environment.BESTK_KUBERNETES_NAMESPACE,
  pod: PodTemplate.parse({
    imagePullPolicy: 'Never',
    // Two cores, all of which the scheduler may give away.
    resources: { requests: { cpu: 2 / ROOM, memory: '64Mi' } },
  }),
};
const limits = { cpus: 1, memoryMb: 256, diskMb: 64, pids: 100, outputBytes: 100_000 };
const make = (concurrency) => new KubernetesSandbox({ concurrency, limits, ttlS: 1_800, cluster });

try {
  await benchOne();
  await benchExec();
  await benchQueue(Number(process.argv[2] ?? 200));
} finally {
  down();
}

/** Alternating, so that all meet the same load, and at any moment of the second in which a kubelet looks once. */
async function benchOne() {
  const sandbox = make(4);
  await (await sandbox.open(spec, go)).close();
  const api = await connectCluster(cluster);
  const times = { open: [], api: [], run: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    await sleep(Math.random() * 1_000);
    const opened = performance.now();
    const session = await sandbox.open(spec, go);
    times.open.push(performance.now() - opened);
    await session.close();
    await sleep(Math.random() * 1_000);
    times.api.push(await timed(() => untilReady(api, `bench-api-${round}`)));
    await kubectl('delete', 'pod', `bench-api-${round}`, '--grace-period=0', '--force');
    await sleep(Math.random() * 1_000);
    const pod = `bench-${round}`;
    const arguments_ = ['run', pod, `--image=${IMAGE}`, '--image-pull-policy=Never', '--restart=Never'];
    times.run.push(
      await timed(async () => {
        await kubectl(...arguments_, '--command', '--', 'sleep', '600');
        await kubectl('wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=60s');
      }),
    );
    await kubectl('delete', 'pod', pod, '--grace-period=0', '--force');
  }
  await sandbox.closeAll();
  const [open, bare, run] = [times.open, times.api, times.run].map(median);
  console.log(`ready  ours ${ms(open)}, the same pod by the API alone ${ms(bare)}: ${(open / bare).toFixed(2)} ×`);
  console.log(
    `       kubectl run and kubectl wait, their own starts included, ${ms(run)}: ${(open / run).toFixed(2)} ×`,
  );
}

/** What `kubectl run` makes and `kubectl wait` waits for, on connections that are open: nothing but the cluster's own time. */
async function untilReady({ core, watch, namespace }, name) {
  const containers = [{ name, image: IMAGE, imagePullPolicy: 'Never', command: ['sleep', '600'] }];
  const body = { metadata: { name, labels: { run: name } }, spec: { containers, restartPolicy: 'Never' } };
  const { metadata } = await core.createNamespacedPod({ namespace, body });
  const query = { fieldSelector: `metadata.name=${name}`, resourceVersion: metadata.resourceVersion };
  const isReady = ({ status }) => status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True');
  await new Promise((done, fail) => {
    const onEvent = (_, pod) => {
      if (!isReady(pod)) return;
      done();
      void following.then((request) => request.abort());
    };
    const following = watch.watch(`/api/v1/namespaces/${namespace}/pods`, query, onEvent, fail);
  });
}

async function benchExec() {
  const sandbox = make(1);
  const session = await sandbox.open(spec, go);
  const [pod] = JSON.parse(await kubectl('get', 'pods', '-l', 'bestk=1', '-o', 'json')).items;
  const times = { exec: [], api: [] };
  for (let round = 0; round < 2 * ROUNDS; round += 1) {
    times.exec.push(await timed(() => session.exec({ argv: ['true'], deadlineS: 20 }, go)));
    times.api.push(await apiTime('exec', pod.metadata.name, '--', 'true'));
  }
  await sandbox.closeAll();
  const [exec, api] = [times.exec, times.api].map(median);
  console.log(
    `exec   ours ${ms(exec)}, kubectl exec ${ms(api)} from its first request on: ${(exec / api).toFixed(2)} ×`,
  );
}

/** From the first request that kubectl logs to the end of its process. */
async function apiTime(...args) {
  const started = performance.timeOrigin + performance.now();
  const said = await kubectl('-v=8', ...args);
  const end = performance.timeOrigin + performance.now();
  const [, hours, minutes, seconds] =
    /^I\d{4} (\d\d):(\d\d):(\d\d\.\d+).*(?:GET https|Request|verb="GET")/m.exec(said) ?? [];
  const first = new Date(started).setHours(Number(hours), Number(minutes), 0, 0) + Number(seconds) * 1000;
  if (!(first >= started - 1 && first <= end)) throw new Error(`kubectl does not log its first request:\n${said}`);
  return end - first;
}

async function benchQueue(sessions) {
  const sandbox = make(sessions);
  const before = sandbox.apiCalls;
  const started = performance.now();
  const results = await Promise.allSettled(
    Array.from({ length: sessions }, async (_, n) => {
      const session = await sandbox.open(spec, go);
      const said = await session.exec({ argv: ['echo', String(n)], deadlineS: 60 }, go);
      await session.close();
      return said.stdout === `${n}\n`;
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  const done = results.filter(({ value }) => value === true).length;
  const calls = sandbox.apiCalls - before;
  await sandbox.closeAll();
  console.log(`queue  ${done} of ${sessions} sessions done, room for ${ROOM}, ${seconds.toFixed(0)} s`);
  console.log(`       ${calls} API calls, ${(calls / sessions).toFixed(2)} a session`);
  for (const { reason } of results.filter(({ status }) => status === 'rejected').slice(0, 3))
    console.log(String(reason));
  if (done < sessions) process.exitCode = 1;
}

async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function kubectl(...args) {
  const child = spawn('kubectl', kubectlArguments(...args), { stdio: ['ignore', 'pipe', 'pipe'] });
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(chunk));
  return new Promise((done, fail) => {
    child.on('close', (code) => {
      if (code === 0) done(Buffer.concat(said).toString());
      else fail(new Error(`kubectl ${args.join(' ')}: ${Buffer.concat(said)}`));
    });
  });
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function ms(value) {
  return `${value.toFixed(0)} ms`;
}
