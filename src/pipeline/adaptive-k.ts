import { submitted } from '../core/candidate.js';
import type { BudgetLedger, Spent } from '../core/budget-ledger.js';
import { readPatch } from '../core/patch.js';
import { fingerprint } from '../core/patch-fingerprint.js';
import { tokensOf, type Rollout } from '../core/rollout.js';
import type { Sampling } from '../core/run-result.js';

export interface SamplingState {
  readonly k: number;
  readonly k0: number | null;
  /** Rollouts asked for so far, those that could not be made included. */
  readonly started: number;
  readonly ledger: BudgetLedger;
  readonly stopAt: AbortSignal | null;
}

/** Why no more rollouts are sampled, or null. Agreement counts only where waves were asked for. */
export function stopReason(
  rollouts: readonly Rollout[],
  { k, k0, started, ledger, stopAt }: SamplingState,
): Pick<Sampling, 'stopped' | 'detail'> | null {
  const agreeing = largestAgreement(rollouts);
  if (k0 !== null && agreeing > k / 2) {
    return {
      stopped: 'agreement',
      detail: `${agreeing} of ${rollouts.length} ended with the same patch, more than half of ${k}`,
    };
  }
  const cut = rollouts.filter(({ exit_reason }) => exit_reason === 'budget_limit').length;
  if (cut > 0) return { stopped: 'budget', detail: `the budget ended ${cut} of ${rollouts.length} rollouts` };
  if (started >= k) return { stopped: 'all', detail: `all ${k} were sampled` };
  if (stopAt?.aborted === true) return { stopped: 'budget', detail: 'the time for sampling is over' };
  const typical = dearest(rollouts, ledger);
  if (ledger.covers(typical)) return null;
  return { stopped: 'budget', detail: `the budget does not cover another rollout of ${typical.tokens} tokens` };
}

/** Size of the largest set of submitted, non-empty, equal source patches. */
function largestAgreement(rollouts: readonly Rollout[]): number {
  const votes = new Map<string, number>();
  for (const { patch, exit_reason } of rollouts) {
    const read = readPatch(patch);
    if (read.kind !== 'ok' || !submitted(exit_reason)) continue;
    const key = fingerprint(read);
    votes.set(key, (votes.get(key) ?? 0) + 1);
  }
  return Math.max(0, ...votes.values());
}

/** What the dearest rollout so far came to: another may be as dear. */
function dearest(rollouts: readonly Rollout[], ledger: BudgetLedger): Spent {
  return rollouts.reduce<Spent>(
    (most, { model, steps }) => {
      const spent = ledger.worth(model, tokensOf(steps));
      return spent.tokens > most.tokens ? spent : most;
    },
    { tokens: 0, usd: 0 },
  );
}
