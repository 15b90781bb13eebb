import type { Sampler } from '../agent/sampler.js';
import type { Budget, PriceTable } from '../core/budget.js';
import type { BudgetLedger } from '../core/budget-ledger.js';
import type { Observe } from '../core/observe.js';
import type { AgentDescription, ModelUsage } from '../core/run-result.js';
import type { Verifier } from '../core/verifier.js';
import type { VerifierName } from '../core/verifier-name.js';

/** What one run works with, and what its model calls came to so far. */
export interface RunKit {
  readonly verifiers: Readonly<Record<VerifierName, Verifier>>;
  /** Null when no agent model is configured. */
  readonly sampler: Sampler | null;
  readonly ledger: BudgetLedger;
  usage(): readonly ModelUsage[];
}

/** Makes the kit of one run; bound in the composition root. */
export abstract class RunKitFactory {
  /** Verifiers to use when a request names none. */
  abstract readonly defaults: readonly VerifierName[];
  abstract readonly verifierModel: string | null;
  /** Model, format and limits of the agent, for `run.json`; null when no agent model is configured. */
  abstract readonly agent: AgentDescription | null;
  abstract readonly prices: PriceTable;
  /** The models that a run with these verifiers may call. */
  abstract modelsOf(verifiers: readonly VerifierName[], sampling: boolean): readonly string[];
  abstract create(observe: Observe, budget: Budget | null): RunKit;
}
