import { setTimeout as sleep } from 'node:timers/promises';
import { OURS } from '../../../src/sandbox/kubernetes/pod-spec.js';
import { describeOnCluster } from '../sandbox/describe-on-cluster.js';
import { KUBECONFIG, NAMESPACE, podNames } from '../sandbox/kubernetes-harness.js';
import { calculatorRun, CELLS, told } from '../../fixtures/calculator-run.js';
import { onCluster, tasksOnNode } from '../../fixtures/cluster-processes.js';
import { ended } from '../../fixtures/command-line.js';
import { until } from '../../fixtures/run-world.js';

const SETTINGS = {
  BESTK_SANDBOX: 'kubernetes',
  BESTK_SANDBOX_CONCURRENCY: '2',
  BESTK_SANDBOX_MEMORY_MB: '256',
  BESTK_SANDBOX_DISK_MB: '256',
  KUBECONFIG: KUBECONFIG ?? '',
  BESTK_KUBERNETES_NAMESPACE: NAMESPACE,
  BESTK_KUBERNETES_POD: '{imagePullPolicy: Never, resources: {requests: {cpu: 0.1}}}',
};
const CELL_OF_A_CANDIDATE = /^(right|b|c): /m;

type Child = Parameters<typeof told>[0];

describeOnCluster('a run on a cluster', () => {
  afterEach(() => {
    expect(podNames(OURS)).toEqual([]);
  });

  const endedWell = ({ cli }: ReturnType<typeof calculatorRun>): void => {
    expect(cli.readJson('out/selection.json')).toMatchObject({ candidate_id: 'right', basis: 'hybrid' });
    const cells = cli.readLines('out/matrix.jsonl');
    expect(cells).toHaveLength(CELLS);
  };

  it('ends right', async () => {
    const run = calculatorRun(SETTINGS);
    expect(await run.cli.run(run.args)).toMatchObject({ code: 0 });
    endedWell(run);
  }, 240_000);

  const untilPodsRun = (): Promise<unknown> => until(() => podNames(OURS).length > 0);
  /** The points of a run at which something is killed, one after the other; a pod is there at each. */
  const points: readonly ((child: Child) => Promise<unknown>)[] = [
    untilPodsRun,
    (child) => told(child, CELL_OF_A_CANDIDATE).then(untilPodsRun),
    (child) => told(child, CELL_OF_A_CANDIDATE).then(untilPodsRun),
  ];

  it('whose worker is killed again and again is finished by the next, which removes what it left', async () => {
    const run = calculatorRun(SETTINGS);
    for (const reached of points) {
      const victim = run.cli.start(run.args);
      await reached(victim);
      victim.kill('SIGKILL');
      await ended(victim);
      expect(podNames(OURS)).not.toEqual([]);
    }
    expect(await run.cli.run(run.args)).toMatchObject({ code: 0 });
    endedWell(run);
  }, 300_000);

  it.each(['kubelet', 'apiserver'])(
    'goes on whenever the %s is killed and comes back',
    async (name) => {
      const run = calculatorRun(SETTINGS);
      const child = run.cli.start(run.args);
      const end = ended(child);
      for (const reached of points) {
        await reached(child);
        await onCluster('kill', name);
        await sleep(3_000);
        await onCluster('start', name);
      }
      expect(await end).toMatchObject({ code: 0 });
      endedWell(run);
    },
    300_000,
  );

  it('leaves no process on the node', async () => {
    for (let tries = 0; tasksOnNode() > 0 && tries < 60; tries += 1) await sleep(500);
    expect(tasksOnNode()).toBe(0);
  });
});
