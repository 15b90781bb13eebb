import { needsVerdicts } from '../../verifiers/hybrid/select.js';
import { ModelUnavailableError } from '../core/errors/unavailable.js';
import { type Candidate, leaksOf, type TrajectoryStep } from '../core/run/candidate.js';
import type { Preset } from '../core/run/preset.js';
import type { GeneratedTest } from '../core/run/generated-test.js';
import { measureNamed, type Verdict } from '../core/run/verdict.js';
import type { Rollout } from '../core/run/rollout.js';
import type { Selection } from '../core/run/run-result.js';
import { isJudge, type VerificationTask, type Verifier, type VerifierName } from '../core/run/verifier.js';
import { secondsOf } from '../core/async/time.js';

export interface ScoreOptions {
  readonly emit: (verdict: Verdict) => Promise<void>;
  /** When it aborts, unfinished verifiers abstain; null = no time limit. */
  readonly outOfTime: AbortSignal | null;
  /** Extracts tests from a verifier's own checks; absent = none. */
  readonly harvest?: Harvest | undefined;
}

export type Harvest = (author: string, steps: readonly TrajectoryStep[]) => readonly GeneratedTest[];

/** Verifiers of one phase run concurrently; those that need test results run after the tests. */
const PHASES = ['before-tests', undefined, 'after-tests'] as const;

/**
 * Runs the verifiers phase by phase and emits each one's verdicts when it ends. If one fails, the others are stopped, so that
 * nothing of a failed run continues in the background.
 * @returns verdicts of all verifiers, and each verifier's wall seconds by name
 * @throws errors of a verifier; ModelUnavailableError if a judge's model answered for no candidate at all
 */
export async function score(
  verifiers: readonly Verifier[],
  task: VerificationTask,
  { emit, outOfTime, harvest }: ScoreOptions,
  signal: AbortSignal,
): Promise<{ verdicts: readonly Verdict[]; seconds: Readonly<Record<string, number>> }> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const seconds: Record<string, number> = {};
  const run = async (verifier: Verifier, given: VerificationTask): Promise<readonly Verdict[]> => {
    const start = performance.now();
    const verdicts = await inTime(verifier, given, outOfTime, both);
    const took = secondsOf(performance.now() - start);
    // Judges run concurrently.
    seconds[verifier.name] = Math.max(seconds[verifier.name] ?? 0, took);
    for (const verdict of verdicts) await emit(verdict);
    return verdicts;
  };
  const verdicts: Verdict[] = [];
  const tests = [...task.tests];
  const found: VerificationTask['found'] = (author, steps) => {
    tests.push(...(harvest?.(author, steps) ?? []));
  };
  for (const phase of PHASES) {
    const given = {
      ...task,
      tests: [...tests],
      observed: [...verdicts],
      ...(phase === 'before-tests' ? { found } : {}),
    };
    const running = verifiers.filter((each) => each.phase === phase).map((verifier) => run(verifier, given));
    try {
      verdicts.push(...(await Promise.all(running)).flat());
    } catch (error) {
      stop.abort(error);
      await Promise.allSettled(running);
      throw error;
    }
  }
  refuseSilence(verdicts);
  return { verdicts, seconds };
}

async function inTime(
  verifier: Verifier,
  task: VerificationTask,
  outOfTime: AbortSignal | null,
  signal: AbortSignal,
): Promise<readonly Verdict[]> {
  if (outOfTime === null) return verifier.verify(task, signal);
  try {
    return await verifier.verify(task, AbortSignal.any([signal, outOfTime]));
  } catch (error) {
    signal.throwIfAborted();
    if (!outOfTime.aborted) throw error;
    return task.candidates.flatMap(({ candidate_id }) =>
      verifier.measures.map(({ name: measure }): Verdict => {
        const detail = 'the time of the run was over';
        return { kind: 'abstained', candidate_id, measure, reason: 'budget-spent', detail, evidence: {} };
      }),
    );
  }
}

/** Abstentions caused by the patch itself. */
const OF_THE_PATCH: ReadonlySet<string> = new Set(['no-source-change', 'refused-patch', 'does-not-apply']);

/** The parts of a verdict that show whether tests were executed. */
interface Executed {
  readonly kind: Verdict['kind'];
  readonly measure: string;
  readonly reason?: string | undefined;
  readonly detail?: string | undefined;
  readonly evidence?: Verdict['evidence'] | undefined;
}

/** Why no test was executed on any candidate, although some had a patch to test; null otherwise. */
export function notExecuted(verdicts: readonly Executed[]): string | null {
  const reasons = new Set<string>();
  for (const { kind, measure, reason, detail, evidence } of verdicts) {
    if (!measureNamed(measure).kind.endsWith('tests')) continue;
    if (kind === 'scored' || hasObserved(evidence)) return null;
    if (reason === 'no-tests') reasons.add(`${measure}: ${detail ?? reason}`);
    else if (!OF_THE_PATCH.has(reason ?? '')) return null;
  }
  return reasons.size === 0 ? null : [...reasons].join('; ');
}

function hasObserved(evidence: Executed['evidence']): boolean {
  return evidence?.observations !== undefined;
}

const GIVE_TESTS =
  'supply tests (--tests, or set BESTK_TEST_MODEL to have them written) or environment.regression_command, or use a judge (--verifiers ef,eb)';

/**
 * Withdraws a selection that rests on no verdict: if no verifier gave one on any candidate, or if nothing was executed and
 * no judge was asked. If nothing was executed but a judge decided, the selection notes it.
 * @param names of the verifiers that were asked
 * @param preset by which the selection was made; one that needs no verdict (shortest, majority) keeps its selection
 */
export function withdrawUnverified(
  selection: Selection,
  verdicts: readonly Verdict[],
  names: readonly VerifierName[],
  preset: Pick<Preset, 'stages'>,
): Selection {
  const gap = notExecuted(verdicts);
  const isJudged = names.some(isJudge);
  const silence = names.length > 0 && needsVerdicts(preset.stages) ? whyNoVerdict(verdicts) : null;
  if (gap !== null && !isJudged) return withoutPatch(selection, `nothing was executed (${gap}): ${GIVE_TESTS}`);
  if (silence !== null) return withoutPatch(selection, silence);
  return gap === null ? selection : { ...selection, notes: [...selection.notes, `not executed: ${gap}`] };
}

function withoutPatch(selection: Selection, why: string): Selection {
  const why_none = selection.candidate_id === null ? (selection.why_none ?? why) : why;
  return { ...selection, candidate_id: null, basis: 'none', deciding_stage: null, confidence: null, why_none };
}

/** Why there is no verdict on any patch that could be verified; null if there is one, or no such patch. */
function whyNoVerdict(verdicts: readonly Verdict[]): string | null {
  if (verdicts.some(({ kind, evidence }) => kind === 'scored' || hasObserved(evidence))) return null;
  const causes = new Map<string, { count: number; detail: string }>();
  for (const verdict of verdicts) {
    if (verdict.kind === 'scored' || OF_THE_PATCH.has(verdict.reason)) continue;
    const cause = `${verdict.measure} ${verdict.reason}`;
    const { count = 0, detail = verdict.detail } = causes.get(cause) ?? {};
    causes.set(cause, { count: count + 1, detail });
  }
  if (causes.size === 0) return null;
  const said = [...causes].map(([cause, { count, detail }]) => `${cause} for ${count} (first: ${detail})`);
  return `no verifier gave a verdict on any candidate: ${said.join('; ')}`;
}

/** A model that fails for one candidate leaves a gap; one that fails for all of them is down. */
function refuseSilence(verdicts: readonly Verdict[]): void {
  const asked = verdicts.filter(
    ({ measure, ...verdict }) =>
      measureNamed(measure).kind === 'judge' &&
      !(verdict.kind === 'abstained' && ['no-source-change', 'refused-patch'].includes(verdict.reason)),
  );
  for (const judge of new Set(asked.map(({ measure }) => measure))) {
    const own = asked.filter(({ measure }) => measure === judge);
    const silent = own.flatMap((each) =>
      each.kind === 'abstained' && each.reason === 'model-unavailable' ? [each] : [],
    );
    if (silent[0] === undefined || silent.length < own.length) continue;
    throw new ModelUnavailableError(`it answered for no candidate; the first words were: ${silent[0].detail}`);
  }
}

/** Flags on how candidates came about, by candidate id: `leak:…`, `patch-lost`, `left-out:…`. */
export function originFlags(
  candidates: readonly Candidate[],
  rollouts: readonly Rollout[],
): ReadonlyMap<string, readonly string[]> {
  const rolloutOf = new Map(rollouts.map((rollout) => [rollout.candidate_id, rollout]));
  return new Map(
    candidates.map(({ candidate_id, trajectory }) => {
      const leaks = leaksOf(trajectory?.steps ?? []).map(({ leak, step }) => `leak:${leak}:step-${step}`);
      return [candidate_id, [...leaks, ...flagsOf(rolloutOf.get(candidate_id))]];
    }),
  );
}

function flagsOf(rollout: Rollout | undefined): string[] {
  if (rollout === undefined) return [];
  const { patch_problem: problem, left_out: leftOut, told_of: toldOf, branch_of: from } = rollout;
  return [
    ...(problem === null ? [] : ['patch-lost']),
    ...(leftOut.length === 0 ? [] : [`left-out:${leftOut.length}-files`]),
    ...(toldOf.length === 0 ? [] : [`told-of:${toldOf.join(',')}`]),
    ...(from === null ? [] : [`branch-of:${from.candidate_id}:step-${from.steps}`]),
  ];
}
