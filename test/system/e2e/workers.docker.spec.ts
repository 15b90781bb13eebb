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
import { Service } from '../../fixtures/service.js';
import { answerLoad, loadRequest, madeTwice, MIX, RIGHT_LINE, STEPS } from '../../fixtures/spread-load.js';

/** Enough that both workers have a part of everything. */
const SHARED = 6;
/** Enough that much is left when one of them is killed. */
const LEFT = 4;
const LATENCY_MS = 250;

let cluster: Cluster;
let store: OpenStore;
let server: ModelServer;
const workers: ChildProcess[] = [];

beforeAll(async () => {
  cluster = await startCluster();
  store = await openPostgresStore(cluster.url);
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

async function serveModels(k: number): Promise<void> {
  server = await ModelServer.start(answerLoad(k, LATENCY_MS), ['agent', 'judge']);
}

function workerSettings(): CommandLine {
  return new CommandLine({
    DATABASE_URL: cluster.url,
    OPENAI_BASE_URL: server.baseUrl,
    BESTK_AGENT_MODEL: 'agent',
    BESTK_VERIFIER_MODEL: 'judge',
    BESTK_LLM_CONCURRENCY: '1',
    BESTK_SANDBOX_CONCURRENCY: '1',
  });
}

/** Two workers with a run between them: the second one hands it over at its start, when the first one waits for work. */
async function startTwo(
  key: string,
  k: number,
  agents: typeof MIX | null = null,
): Promise<{ id: string; pids: readonly (number | undefined)[] }> {
  const { child } = await Service.start(workerSettings(), {}, 'worker');
  workers.push(child);
  const id = await submit(key, k, agents);
  workers.push(workerSettings().start(['worker']));
  return { id, pids: workers.map(({ pid }) => pid) };
}

/** As a service does it; it is handed over by whichever worker looks next for what nobody has taken up: each at its start. */
async function submit(key: string, k: number, agents: typeof MIX | null): Promise<string> {
  return (await store.runs.create(key, loadRequest(k, '', agents))).run.id;
}

async function until<T>(look: () => Promise<T | null>, ms = 220_000): Promise<T> {
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

interface Part {
  readonly kind: string;
  readonly pid: number;
  readonly attempts: number;
}

/** Of the run's last execution: who did what. */
function partsOf(journal: readonly RunEvent[]): Part[] {
  return of(journal, 'part').map(({ data }) => {
    const { kind, worker, attempts } = data as { kind: string; worker: string; attempts: number };
    return { kind, pid: Number(worker.split(':').at(-1)), attempts };
  });
}

/** How many answers were paid more than once. */
function paidTwice(k: number): number {
  return madeTwice(
    server.calls.filter(({ abandoned }) => !abandoned),
    k,
  );
}

function expectRight(result: RunResult, k: number): void {
  const right = result.rollouts.find(({ patch }) => patch.includes(RIGHT_LINE));
  expect(result.selection.candidate_id).toBe(right?.candidate_id);
  expect(result.rollouts).toHaveLength(k);
  expect(result.verdicts.filter(({ kind }) => kind === 'scored')).toHaveLength(3 * k);
}

describe('two workers on one PostgreSQL', () => {
  it('share one run: rollouts, verdicts and cells', async () => {
    await serveModels(SHARED);
    const { id, pids } = await startTwo('shared', SHARED);
    const result = await end(id);
    expectRight(result, SHARED);
    const journal = await store.runs.events(id, 0);
    const parts = partsOf(journal);
    const doneBy = (kind: string): Set<number> =>
      new Set(parts.filter((part) => part.kind === kind).map(({ pid }) => pid));
    expect(doneBy('rollout')).toEqual(new Set(pids));
    expect(doneBy('verdict')).toEqual(new Set(pids));
    expect(doneBy('cells')).toEqual(new Set(pids));
    expect(new Set(parts.map(({ attempts }) => attempts))).toEqual(new Set([1]));
    expect(parts.filter(({ kind }) => kind === 'rollout')).toHaveLength(SHARED);
    expect(paidTwice(SHARED)).toBe(0);

    // Whoever made them, calls and money are this run's.
    const asked = new Map(result.usage.models.map(({ purpose, calls }) => [purpose, calls]));
    expect(asked.get('agent')).toBe(server.calls.filter(({ body }) => body.model === 'agent').length);
    expect([...asked.values()].reduce((sum, calls) => sum + calls, 0)).toBe(server.calls.length);

    expect(journal.map(({ seq }) => seq)).toEqual(journal.map((_, n) => n + 1));
    expect(of(journal, 'step')).toHaveLength(STEPS * SHARED);
  }, 240_000);

  it.each([
    { which: 'the process whose run it is', sweep: 'the next sweep of the living one' },
    { which: 'the other one', sweep: 'bestk sweep' },
  ])(
    'finish a run of two agents when $which is killed; $sweep removes what it left',
    async ({ which, sweep }) => {
      await serveModels(LEFT);
      const { id } = await startTwo(`killed: ${which}`, LEFT, MIX);
      await until(async () => (of(await store.runs.events(id, 0), 'step').length >= 4 ? true : null));
      const owner = (await cluster.sql(`select owner from runs where id = '${id}'`)).trim();
      const pid = Number(owner.split('/')[1]);
      const victim = workers.find((worker) => (worker.pid === pid) === (which === 'the process whose run it is'));
      // It is in the middle of something: one that has a container of the agent's open is.
      await until(() => Promise.resolve(containersOf(victim?.pid).length > 0 ? true : null));
      const seq = (await store.runs.events(id, 0)).at(-1)?.seq ?? 0;
      victim?.kill('SIGKILL');
      const living = workers.find((worker) => worker !== victim);
      await until(async () => {
        const since = partsOf(await store.runs.events(id, seq));
        const isTakenOver = since.some(({ pid: by, attempts }) => by === living?.pid && attempts > 1);
        // What the victim was in the middle of may have been over but for its container; then nothing is done again.
        const status = await store.runs.statusOf(id);
        return isTakenOver || (status !== null && hasEnded(status)) ? true : null;
      });

      const result = await end(id);
      expectRight(result, LEFT);
      expect(result.rollouts.map(({ candidate_id }) => candidate_id)).toEqual(['warm-1', 'cool-1', 'warm-2', 'cool-2']);
      expect(result.statistics.agents).toMatchObject(MIX.map(({ name }) => ({ agent: name, k: LEFT / 2 })));
      expect(paidTwice(LEFT)).toBeLessThanOrEqual(1);
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
