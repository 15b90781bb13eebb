import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCluster, type Cluster } from '../../../scripts/setup/postgres.mjs';
import { openPostgresStore } from '../../../src/store/postgres.js';
import type { OpenStore } from '../../../src/store/store.js';
import { RunResult } from '../../../src/core/run/run-result.js';
import { hasEnded, type RunEvent } from '../../../src/ports/run-store.js';
import { ModelServer } from '../../fakes/model-server.js';
import { CommandLine, ended } from '../../fixtures/command-line.js';
import { containersOf } from '../../fixtures/containers.js';
import { answerLoad, loadRequest, madeTwice, RIGHT_LINE, STEPS } from '../../fixtures/spread-load.js';

const K = 6;
const LATENCY_MS = 250;

let cluster: Cluster;
let store: OpenStore;
let server: ModelServer;
const workers: ChildProcess[] = [];

beforeAll(async () => {
  cluster = await startCluster();
  store = await openPostgresStore(cluster.url);
});
beforeEach(async () => {
  server = await ModelServer.start(answerLoad(K, LATENCY_MS), ['agent', 'judge']);
});
afterEach(async () => {
  const living = workers.splice(0).filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  await Promise.all(
    living.map(async (worker) => {
      const end = ended(worker);
      worker.kill('SIGTERM');
      await end;
    }),
  );
  await server.close();
});
afterAll(async () => {
  await store.close();
  await cluster.destroy();
});

function startWorker(): ChildProcess {
  const cli = new CommandLine({
    DATABASE_URL: cluster.url,
    OPENAI_BASE_URL: server.baseUrl,
    BESTK_AGENT_MODEL: 'agent',
    BESTK_VERIFIER_MODEL: 'judge',
    BESTK_LLM_CONCURRENCY: '1',
    BESTK_SANDBOX_CONCURRENCY: '1',
  });
  const worker = cli.start(['worker']);
  workers.push(worker);
  return worker;
}

async function submit(key: string): Promise<string> {
  return (await store.runs.create(key, loadRequest(K))).run.id;
}

async function until<T>(look: () => Promise<T | null>, ms = 120_000): Promise<T> {
  const late = performance.now() + ms;
  for (;;) {
    const seen = await look();
    if (seen !== null) return seen;
    if (performance.now() > late) throw new Error('It did not come to pass.');
    await sleep(50);
  }
}

async function end(id: string): Promise<RunResult> {
  const run = await until(async () => {
    const status = await store.runs.statusOf(id);
    return status !== null && hasEnded(status) ? store.runs.get(id) : null;
  });
  expect(run).toMatchObject({ status: 'done', failure: null });
  return RunResult.parse(run.result);
}

interface UnitRow {
  readonly kind: string;
  readonly state: string;
  readonly pid: number;
  readonly attempts: number;
}

async function units(id: string): Promise<UnitRow[]> {
  const lines = await cluster.sql(`select kind, state, owner, attempts from units where run_id = '${id}'`);
  return lines
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [kind = '', state = '', owner = '', attempts = ''] = line.split('|');
      return { kind, state, pid: Number(owner.split(':').at(-2)), attempts: Number(attempts) };
    });
}

/** How many answers were paid more than once. */
function paidTwice(): number {
  return madeTwice(
    server.calls.filter(({ abandoned }) => !abandoned),
    K,
  );
}

function expectRight(result: RunResult): void {
  const right = result.rollouts.find(({ patch }) => patch.includes(RIGHT_LINE));
  expect(result.selection.candidate_id).toBe(right?.candidate_id);
  expect(result.rollouts).toHaveLength(K);
  expect(result.verdicts.filter(({ kind }) => kind === 'scored')).toHaveLength(3 * K);
}

describe('two workers on one PostgreSQL', () => {
  it('share one run: rollouts, verdicts and cells', async () => {
    const pids = [startWorker(), startWorker()].map(({ pid }) => pid);
    await sleep(1_500);
    const id = await submit('shared');
    const result = await end(id);
    expectRight(result);
    const rows = await units(id);
    const doneBy = (kind: string): Set<number> =>
      new Set(rows.filter((row) => row.kind === kind).map(({ pid }) => pid));
    expect(doneBy('rollout')).toEqual(new Set(pids));
    expect(doneBy('verdict')).toEqual(new Set(pids));
    expect(doneBy('cells')).toEqual(new Set(pids));
    expect(new Set(rows.map(({ state, attempts }) => `${state} ${attempts}`))).toEqual(new Set(['done 1']));
    expect(rows.filter(({ kind }) => kind === 'rollout')).toHaveLength(K);
    expect(paidTwice()).toBe(0);

    // Whoever made them, calls and money are this run's.
    const asked = new Map(result.usage.models.map(({ purpose, calls }) => [purpose, calls]));
    expect(asked.get('agent')).toBe(server.calls.filter(({ body }) => body.model === 'agent').length);
    expect([...asked.values()].reduce((sum, calls) => sum + calls, 0)).toBe(server.calls.length);

    const journal = await store.runs.events(id, 0);
    expect(journal.map(({ seq }) => seq)).toEqual(journal.map((_, n) => n + 1));
    expect(of(journal, 'step')).toHaveLength(STEPS * K);
    expect(of(journal, 'unit')).toHaveLength(rows.length);
  }, 240_000);

  it.each([
    { which: 'the process whose run it is', sweep: 'the next sweep of the living one' },
    { which: 'the other one', sweep: 'bestk sweep' },
  ])(
    'finish when $which is killed; $sweep removes what it left',
    async ({ which, sweep }) => {
      startWorker();
      startWorker();
      const id = await submit(`killed: ${which}`);
      await until(async () => (of(await store.runs.events(id, 0), 'step').length >= 4 ? true : null));
      const owner = (await cluster.sql(`select owner from runs where id = '${id}'`)).trim();
      const pid = Number(owner.split(':').at(-2));
      const victim = workers.find((worker) => (worker.pid === pid) === (which === 'the process whose run it is'));
      const before = await units(id);
      expect(before.filter((row) => row.pid === victim?.pid && row.state === 'leased').length).toBeGreaterThan(0);
      victim?.kill('SIGKILL');

      expectRight(await end(id));
      const rows = await units(id);
      expect(rows.every(({ state }) => state === 'done')).toBe(true);
      expect(Math.max(...rows.map(({ attempts }) => attempts))).toBe(2);
      expect(paidTwice()).toBeLessThanOrEqual(1);
      const living = workers.find((worker) => worker !== victim);
      if (sweep === 'bestk sweep') expect(await new CommandLine().run(['sweep'])).toMatchObject({ code: 0 });
      await until(async () => (containersOf(victim?.pid).length === 0 ? true : null));
      expect(containersOf(living?.pid)).toEqual([]);
    },
    240_000,
  );
});

function of(events: readonly RunEvent[], type: string): readonly RunEvent[] {
  return events.filter((event) => event.type === type);
}
