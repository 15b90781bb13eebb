import type { Sampler } from '../agent/rollout.js';
import type { BudgetLedger, Spent } from '../core/budget/budget.js';
import { UnavailableError } from '../core/errors/errors.js';
import { isStoreOutage } from '../core/errors/unavailable.js';
import { submitted } from '../core/run/candidate.js';
import { candidateIdOf, type Turn, turnsOf } from '../core/run/agent.js';
import type { Issue } from '../core/run/issue.js';
import { type Branch, candidateOf, type EarlierTries, type Rollout, tokensOf } from '../core/run/rollout.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { Sampling } from '../core/run/run-result.js';
import { type Entry, isEligible, voteOf } from '../../verifiers/hybrid/entry.js';
import { Pool } from '../../verifiers/hybrid/pool.js';
import { describeCandidates, madeBy } from './entries.js';
import type { Emit } from './run-dependencies.js';

export interface SamplingPlan {
  readonly issue: Issue;
  readonly k: number;
  /** Size of the first and of each further wave; null = all at once. */
  readonly k0: number | null;
  readonly seed: number;
  /** The agents that share the rollouts; null = one agent without a name. */
  readonly agents: RunRequest['agents'];
  readonly ledger: BudgetLedger;
  /** When it aborts, running rollouts end with what they have and no more are started. */
  readonly stopAt: AbortSignal | null;
}

export interface Collected {
  readonly rollouts: readonly Rollout[];
  readonly sampling: Sampling;
}

/** Keeps the sample numbers of different seeds apart. */
const SAMPLES_PER_SEED = 1_000;

/**
 * Samples up to K rollouts, in waves if `k0` is given. Stops early once the best patch is likely enough to be right or can no
 * longer change (`settled`), or if the budget does not cover another rollout. Adaptive K: field notes in `docs/sampling.md`.
 * @throws the first failure if no rollout succeeded at all, and the signal's reason
 */
export async function collect(
  sampler: Sampler,
  plan: SamplingPlan,
  emit: Emit,
  signal: AbortSignal,
): Promise<Collected> {
  const rollouts: Rollout[] = [];
  const failures: { candidate_id: string; error: UnavailableError }[] = [];
  let started = 0;
  for (;;) {
    const wave = Math.min(plan.k0 ?? plan.k, plan.k - started);
    const numbers = Array.from({ length: wave }, (_, index) => started + index + 1);
    const settled = await sampleWave({ sampler, plan, emit }, triesOf(plan, numbers), signal);
    rollouts.push(...settled.rollouts);
    failures.push(...settled.failures);
    started += wave;
    const [first] = failures;
    // A cause that fails a whole wave (a missing image, a refused key) would also fail the next.
    if (rollouts.length === 0 && first !== undefined) throw first.error;
    const stop = stopReason(rollouts, { ...plan, started });
    if (stop === null) continue;
    const failed = failedTries(failures);
    const sampling = { asked: plan.k, sampled: rollouts.length, ...stop, failed, refined: null, branched: null };
    await emit('sampled', sampling);
    return { rollouts, sampling };
  }
}

export interface Wave {
  readonly sampler: Sampler;
  readonly plan: Pick<SamplingPlan, 'issue' | 'seed' | 'agents' | 'ledger' | 'stopAt'>;
  readonly emit: Emit;
}

/** A rollout to sample. */
export interface Try {
  readonly candidateId: string;
  /** Null = the run's only agent. */
  readonly agent: string | null;
  readonly sample: number;
  /** Earlier attempts described in its agent's prompt; absent = none. */
  readonly earlier?: EarlierTries | undefined;
  /** The rollout and step that it continues from; absent = it starts afresh. */
  readonly branch?: Branch | undefined;
}

interface WaveEnd {
  readonly rollouts: readonly Rollout[];
  readonly failures: readonly { readonly candidate_id: string; readonly error: UnavailableError }[];
}

/** @param numbers of the rollouts in their run, from 1 */
export function triesOf(
  { agents, seed }: Pick<SamplingPlan, 'agents' | 'seed'>,
  numbers: readonly number[],
  earlier?: EarlierTries,
): readonly Try[] {
  const turns = turnsOf(agents, Math.max(0, ...numbers));
  const wanted = numbers.flatMap((number) => turns[number - 1] ?? []);
  return wanted.map((turn) => {
    const { agent, nth } = turn;
    return { candidateId: candidateIdOf(turn), agent, sample: sampleOf(seed, nth), earlier };
  });
}

/** @param nth number among the agent's rollouts, from 1 */
export function sampleOf(seed: number, nth: number): number {
  return seed * SAMPLES_PER_SEED + nth - 1;
}

/** @throws errors that are not failures of a single rollout, and the signal's reason */
export async function sampleWave(work: Wave, wanted: readonly Try[], signal: AbortSignal): Promise<WaveEnd> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  const tries = wanted.map(async (one) => {
    try {
      return await sampleOne(work, one, both);
    } catch (error) {
      // If a model refuses one conversation, or the engine loses one container, other rollouts are not affected. If the store is
      // out, those that were just being written would be missing from the result.
      if (!(error instanceof UnavailableError) || isStoreOutage(error)) stop.abort(error);
      throw error;
    }
  });
  const settled = await Promise.allSettled(tries);
  both.throwIfAborted();
  const rollouts: Rollout[] = [];
  const failures: { candidate_id: string; error: UnavailableError }[] = [];
  for (const [index, result] of settled.entries()) {
    if (result.status === 'fulfilled') rollouts.push(result.value);
    else {
      const candidate_id = wanted[index]?.candidateId ?? '';
      failures.push({ candidate_id, error: result.reason as UnavailableError });
    }
  }
  return { rollouts, failures };
}

/** Characters of a failed program's output in the event of its rollout. */
const MOST_OUTPUT = 500;

async function sampleOne({ sampler, plan, emit }: Wave, one: Try, signal: AbortSignal): Promise<Rollout> {
  const { issue, stopAt } = plan;
  const task = {
    ...one,
    issue,
    stopAt,
    onStep: (step: object) => emit('step', { ...step }),
  };
  const rollout = await sampler.sample(task, signal);
  const { candidate_id, exit_reason, steps, patch, malformed } = rollout;
  const tokens = tokensOf(steps);
  await emit('rollout', {
    candidate_id,
    exit_reason,
    steps: steps.length,
    malformed,
    patch_lines: patch === '' ? 0 : patch.split('\n').length - 1,
    tokens: tokens.input_tokens + tokens.output_tokens,
    seconds: Math.round(steps.reduce((sum, { llm_s, env_s }) => sum + llm_s + env_s, 0) * 10) / 10,
    ...(exit_reason === 'command_failed' && {
      last_output: (steps.at(-1)?.observation ?? '').trimEnd().slice(-MOST_OUTPUT),
    }),
  });
  return rollout;
}

export interface SamplingState {
  readonly issue: Issue;
  readonly k: number;
  readonly k0: number | null;
  readonly agents: RunRequest['agents'];
  /** Rollouts requested so far, including failed ones. */
  readonly started: number;
  readonly ledger: BudgetLedger;
  readonly stopAt: AbortSignal | null;
}

/** Why no more rollouts are sampled, or null. Agreement counts only if sampling is in waves. */
export function stopReason(
  rollouts: readonly Rollout[],
  { issue, k, k0, agents, started, ledger, stopAt }: SamplingState,
): Pick<Sampling, 'stopped' | 'detail'> | null {
  const detail = k0 === null || started >= k ? null : settled(issue, rollouts, turnsOf(agents, k).slice(started));
  if (detail !== null) return { stopped: 'agreement', detail };
  const cut = rollouts.filter(({ exit_reason }) => exit_reason === 'budget_limit').length;
  if (cut > 0) return { stopped: 'budget', detail: `the budget ended ${cut} of ${rollouts.length} rollouts` };
  if (started >= k) return { stopped: 'all', detail: `all ${k} were sampled` };
  if (stopAt?.aborted === true) return { stopped: 'budget', detail: 'the time for sampling is over' };
  const typical = dearest(rollouts, ledger);
  if (ledger.covers(typical)) return null;
  return { stopped: 'budget', detail: `the budget does not cover another rollout of ${typical.tokens} tokens` };
}

/** P(right) of the best patch, by votes only, at which sampling stops; three equal patches out of three reach it. */
export const SURE = 0.95;

/**
 * Why the best patch is settled by the posterior, or null: it is likely enough to be right, or it would stay the best even if
 * all remaining samples were copies of another. Nothing is verified yet, so the votes of submitted patches decide.
 */
function settled(issue: Issue, rollouts: readonly Rollout[], left: readonly Turn[]): string | null {
  const submissions = rollouts.filter(({ exit_reason }) => submitted(exit_reason)).map(candidateOf);
  const described = describeCandidates(submissions, [], issue.problem_statement, { rollouts });
  const entries = described.map(({ entry }) => entry).filter(isEligible);
  const rightOf = (pool: readonly Entry[], { id }: Entry): number =>
    new Pool({ instanceId: issue.instance_id, entries: pool }).beliefs().right.get(id) ?? 0;
  const [best, ...others] = entries.toSorted((a, b) => rightOf(entries, b) - rightOf(entries, a));
  if (best === undefined) return null;
  const right = rightOf(entries, best);
  if (right >= SURE) return `the patch of ${best.id} is right with ${right.toFixed(3)}, at least ${SURE}`;
  const another = { ...best, fingerprint: 'another', change: 'another' };
  const rivals = [others.find((other) => voteOf(other) !== voteOf(best)), another];
  const stays = rivals.every((rival) => {
    if (rival === undefined) return true;
    const copies = left.map(({ agent }, index) => ({ ...rival, id: `copy ${index}`, ...madeBy(agent) }));
    const pool = [...entries, ...copies];
    return rightOf(pool, best) > rightOf(pool, copies[0] ?? rival);
  });
  return stays
    ? `the patch of ${best.id} stays the best of ${rollouts.length}, whatever the remaining ${left.length} come to`
    : null;
}

export function failedTries(failures: WaveEnd['failures']): Sampling['failed'] {
  return failures.map(({ candidate_id, error: { code, message } }) => ({ candidate_id, code, message }));
}

/** Usage of the most expensive rollout so far; another may use as much. */
export function dearest(rollouts: readonly Rollout[], ledger: BudgetLedger): Spent {
  return rollouts.reduce<Spent>(
    (most, { model, steps }) => {
      const spent = ledger.worth(model, tokensOf(steps));
      return spent.tokens > most.tokens ? spent : most;
    },
    { tokens: 0, usd: 0 },
  );
}
