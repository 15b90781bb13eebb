// Times sandboxes on the test cluster against what the cluster itself needs: `npm run bench:k8s [-- sessions]`.
//   ready   opening a sandbox (pod, repository made ready) against `kubectl run` of the same image until it is ready
//   exec    a command in a sandbox against `kubectl exec` in the same pod, from its first request to its end
//   queue   many sessions at once on a node with room for twenty
import { spawn } from 'node:child_process';
import { bringUp, kubectlArguments, needCluster } from './kubernetes/cluster.mjs';

const IMAGE = 'bestk/fixture:1';
const ROUNDS = 15;
const ROOM = 20;
const go = new AbortController().signal;
const spec = { image: IMAGE, workdir: '/testbed', baseCommit: null, purpose: 'bench' };

needCluster('bench:k8s');
const { environment, down } = await bringUp([IMAGE]);
const { KubernetesSandbox } = await import('../dist/src/adapters/kubernetes-sandbox.js');
const cluster = {
  kubeconfig: environment.BESTK_TEST_KUBECONFIG,
  namespace: environment.BESTK_KUBERNETES_NAMESPACE,
  nodeSelector: {},
  tolerations: [],
  pullSecrets: [],
  pull: 'Never',
  // Two cores, all of which the scheduler may give away.
  cpuRequest: 2 / ROOM,
  memoryRequestMb: 64,
  nonRoot: false,
  pendingPods: 16,
  startS: 600,
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

/** Alternating, so that both meet the same load. */
async function benchOne() {
  const sandbox = make(4);
  await (await sandbox.open(spec, go)).close();
  const times = { open: [], run: [], kubectl: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    const opened = performance.now();
    const session = await sandbox.open(spec, go);
    times.open.push(performance.now() - opened);
    await session.close();

    const pod = `bench-${round}`;
    const arguments_ = ['run', pod, `--image=${IMAGE}`, '--image-pull-policy=Never', '--restart=Never'];
    times.run.push(
      await timed(async () => {
        await kubectl(...arguments_, '--command', '--', 'sleep', '600');
        await kubectl('wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=60s');
      }),
    );
    times.kubectl.push(await timed(() => kubectl('version', '--client')));
    await kubectl('delete', 'pod', pod, '--grace-period=0', '--force');
  }
  await sandbox.closeAll();
  const [open, run, start] = [times.open, times.run, times.kubectl].map(median);
  console.log(`ready  ours ${ms(open)}, kubectl run ${ms(run)}, less two starts of kubectl ${ms(run - 2 * start)}`);
  console.log(`       ${(open / run).toFixed(2)} × and ${(open / (run - 2 * start)).toFixed(2)} ×`);
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
