import type { ModelUsage } from '../core/run/run-result.js';
import type { RunDependencies } from '../runs/run-dependencies.js';
import type { Accounted } from './unit-payloads.js';

const COUNTS = ['calls', 'stored_answers', 'input_tokens', 'cached_input_tokens', 'output_tokens', 'seconds'] as const;

/** Divides the account of a kit that several units share: each taking is what came to it since the last. */
export class UnitAccount {
  private last: Accounted = { usage: [], spent: { tokens: 0, usd: 0 } };

  constructor(private readonly deps: Pick<RunDependencies, 'usage' | 'ledger'>) {}

  take(): Accounted {
    const { tokens, usd } = this.deps.ledger.spent();
    const now = { usage: [...this.deps.usage()], spent: { tokens, usd } };
    const before = this.last;
    this.last = now;
    return {
      usage: now.usage.flatMap((entry) => changed(entry, before.usage.find(isSame(entry)))),
      spent: { tokens: tokens - before.spent.tokens, usd: usd === null ? null : usd - (before.spent.usd ?? 0) },
    };
  }
}

function isSame({ purpose, model }: ModelUsage): (other: ModelUsage) => boolean {
  return (other) => other.purpose === purpose && other.model === model;
}

function changed(now: ModelUsage, before: ModelUsage | undefined): ModelUsage[] {
  if (before === undefined) return [now];
  const change = { ...now };
  for (const count of COUNTS) change[count] -= before[count];
  return COUNTS.some((count) => change[count] !== 0) ? [change] : [];
}
