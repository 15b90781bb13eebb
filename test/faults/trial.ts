import { setTimeout as sleep } from 'node:timers/promises';
import { connectDocker } from '../../src/sandbox/docker/engine.js';
import { sweepContainers } from '../../src/sandbox/docker/sandbox.js';
import type { Random } from '../../src/core/random.js';
import { RunResult } from '../../src/core/run/run-result.js';
import { hasEnded, type Run } from '../../src/ports/run-store.js';
import { answerLoad, loadRequest, madeTwice, RIGHT_LINE } from '../fixtures/spread-load.js';
import type { Fault } from './fault.js';
import type { Stage } from './stage.js';

export const K = 3;
const LATENCY_MS = 150;
/** A run that has not ended by then, counted from the strike, is stuck. */
const STUCK_AFTER_MS = 300_000;
/** How long a strike takes; calls that begin meanwhile are under way, too. */
const MOMENT_MS = 500;
/** A process that was cut off learns by its next beat what it lost, and a connection may wait 10 s for an answer. */
const CONTAINERS_GONE_WITHIN_MS = 30_000;

export interface Trial {
  /** Where in the run the fault struck, of its undisturbed time. */
  readonly at: number;
  readonly underWay: boolean;
  readonly right: boolean;
  readonly stuck: boolean;
  readonly lost: number;
  readonly calls: number;
  readonly inFlight: number;
  readonly twice: number;
  readonly containers: number;
  /** From the strike to the end of the run. */
  readonly seconds: number;
  /** What was not as it must be. */
  readonly problems: readonly string[];
}

export interface Undisturbed {
  readonly seconds: number;
  /** What each patch came to. */
  readonly results: readonly string[];
}

/** A run that nothing disturbs: how long it takes and what it comes to. */
export async function undisturbed(stage: Stage, name: string): Promise<Undisturbed> {
  const start = performance.now();
  const run = await ended(stage, await submit(stage, name));
  const seconds = (performance.now() - start) / 1000;
  if (run?.status !== 'done') throw new Error(`An undisturbed run came to ${JSON.stringify(run?.failure)}`);
  const reference = { seconds, results: resultsByPatch(RunResult.parse(run.result)) };
  const problems = problemsOf(run, reference);
  if (problems.length > 0) throw new Error(`An undisturbed run is not right: ${problems.join(', ')}`);
  return reference;
}

/** One run, one fault. @param at when it strikes, as a part of the undisturbed time */
export async function trial(
  { fault, stage, random, brief }: { fault: Fault; stage: Stage; random: Random; brief: boolean },
  reference: Undisturbed,
  name: string,
): Promise<Trial> {
  const at = random();
  await stage.ensureStarted();
  const id = await submit(stage, name);
  await sleep(at * reference.seconds * 1000);
  const before = await snapshot(stage, id);
  const struck = performance.now();
  const ending = ended(stage, id).then((run) => ({ run, seconds: (performance.now() - struck) / 1000 }));
  // Where striking fails, that is what is told.
  ending.catch(() => undefined);
  const strike = fault.strike(stage, random, async (ms, briefMs) => {
    await (brief ? Promise.race([sleep(briefMs), ending]) : sleep(ms));
  });
  await Promise.race([sleep(MOMENT_MS), strike]);
  const counted = stage.parts.model.calls.length - before.answers;
  const inFlight = fault.unnoticed === true ? Math.max(counted, K) : counted;
  await strike;
  const { run, seconds } = await ending;
  await stage.ensureStarted();
  const after = await snapshot(stage, id);
  const calls = stage.parts.model.calls;
  const twice = madeTwice(calls, K);
  const containers = await containersLeft(stage);
  const lost = [...before.kept].filter((each) => !after.kept.has(each)).length;
  const problems = [
    ...(run === null ? ['the run is stuck'] : problemsOf(run, reference)),
    ...(lost > 0 ? [`${lost} stored results or events are gone`] : []),
    ...(twice > inFlight ? [`${twice} calls were made twice, ${inFlight} were under way`] : []),
    ...(containers > 0 ? [`${containers} containers are left`] : []),
    ...after.problems,
  ];
  const right = run !== null && problemsOf(run, reference).length === 0;
  const known = { at, underWay: before.underWay, right, stuck: run === null, lost, calls: calls.length };
  return { ...known, inFlight, twice, containers, seconds, problems };
}

async function submit(stage: Stage, name: string): Promise<string> {
  stage.play(answerLoad(K, LATENCY_MS), await answersStored(stage));
  const body = JSON.stringify(loadRequest({ k: K }, name));
  const { id } = (await stage.service?.post('/v1/runs', body)) as { id?: string };
  if (id === undefined) throw new Error('The service did not accept the run.');
  return id;
}

/** The run once it has ended; null when it is stuck. */
async function ended(stage: Stage, id: string): Promise<Run | null> {
  const { store } = stage.parts;
  for (const late = performance.now() + STUCK_AFTER_MS; performance.now() < late;) {
    const status = await store.runs.statusOf(id);
    if (status !== null && hasEnded(status)) return store.runs.get(id);
    await sleep(50);
  }
  return null;
}

interface Snapshot {
  /** Results and events that are there. */
  readonly kept: ReadonlySet<string>;
  /** Model answers that are stored, of calls since the run was submitted. */
  readonly answers: number;
  readonly underWay: boolean;
  readonly problems: readonly string[];
}

async function snapshot(stage: Stage, id: string): Promise<Snapshot> {
  const rows = await stage.rows(`
    select 'answers', cast(count(*) as text) from results where kind = 'completion'
    union all select 'result', key from results
    union all select 'event', cast(seq as text) || ' ' || type || ' ' || data from run_events where run_id = '${id}'
    union all select 'status', status from runs where id = '${id}'`);
  const of = (what: string): readonly string[] =>
    rows.filter((row) => row.startsWith(`${what}|`)).map((row) => row.slice(what.length + 1));
  const sequence = of('event').map((event) => Number(event.split(' ')[0]));
  const whole = new Set(sequence).size === sequence.length && Math.max(0, ...sequence) === sequence.length;
  const problems = whole ? [] : [`the journal has holes: ${sequence.join(' ')}`];
  const answers = Number(of('answers')[0]) - stage.answersBefore;
  const underWay = of('status')[0] !== 'done';
  return { kept: new Set([...of('result'), ...of('event')]), answers, underWay, problems };
}

async function answersStored(stage: Stage): Promise<number> {
  return Number((await stage.rows("select count(*) from results where kind = 'completion'"))[0]);
}

function problemsOf({ status, failure, result }: Run, reference: Undisturbed): readonly string[] {
  if (status !== 'done') return [`the run ended as ${status}: ${JSON.stringify(failure)}`];
  const { selection, rollouts, verdicts, ...rest } = RunResult.parse(result);
  const selected = rollouts.find(({ candidate_id }) => candidate_id === selection.candidate_id);
  const abstained = verdicts.filter(({ kind }) => kind !== 'scored').length;
  const others = resultsByPatch({ rollouts, verdicts, ...rest }).filter((each) => !reference.results.includes(each));
  return [
    ...(selected?.patch.includes(RIGHT_LINE) === true ? [] : ['another patch was selected']),
    ...(rollouts.length === K ? [] : [`${rollouts.length} of ${K} rollouts`]),
    ...(abstained === 0 ? [] : [`${abstained} verdicts could not be given`]),
    ...others.map((each) => `this came otherwise without a fault: ${each}`),
  ];
}

/** Scores and outcomes of each patch, whichever try made it. */
function resultsByPatch({ rollouts, verdicts, cells }: Pick<RunResult, 'rollouts' | 'verdicts' | 'cells'>): string[] {
  const patches = new Map(rollouts.map(({ patch, candidate_id }) => [patch, candidate_id]));
  const rows = [...patches].map(([patch, id]) => ({
    patch: patch.split('\n').filter((line) => /^\+[^+]/.test(line)),
    verdicts: verdicts
      .flatMap((each) => (each.kind === 'scored' && each.candidate_id === id ? `${each.measure} ${each.score}` : []))
      .sort(),
    cells: cells
      .flatMap((each) => (each.candidate_id === id ? `${each.suite} ${each.test_id} ${each.outcome}` : []))
      .sort(),
  }));
  return rows.map((row) => JSON.stringify(row));
}

/** What stays when those who made them have had time, and after a sweep as every process makes each minute. */
async function containersLeft({ parts: { engine } }: Stage): Promise<number> {
  const late = performance.now() + CONTAINERS_GONE_WITHIN_MS;
  while (engine.containers().length > 0 && performance.now() < late) {
    await sleep(250);
    await sweepContainers(connectDocker(engine.host));
  }
  return engine.containers().length;
}
