import type { Entry } from './entry.js';
import { measure, type Pool } from './pool.js';
import { isAbove, satisfies, weightedSum, type Compare } from './rank-key.js';
import type { Stage, TopCount } from './stage.js';

export interface StageOutcome {
  readonly kept: readonly Entry[];
  /** Why everyone was kept; null when somebody was dropped. */
  readonly skipped: string | null;
}

/**
 * Applies one stage to those still in the running.
 * @param order the stage's own order, then those of the stages after it
 */
export function runStage(stage: Stage, pool: Pool, entries: readonly Entry[], order: Compare): StageOutcome {
  if (stage.stage !== 'keep' && stage.stage !== 'above' && entries.length === 1) {
    return { kept: entries, skipped: 'one candidate left' };
  }
  if (nobodyMeasured(stage, pool, entries)) return { kept: entries, skipped: 'unknown for every candidate left' };
  const kept = keptBy(stage, pool, entries, order);
  if (kept.length === entries.length) return { kept: entries, skipped: reasonAllKept(stage) };
  if (kept.length === 0 && fallsBack(stage)) {
    return { kept: entries, skipped: `no candidate passes, so all ${entries.length} are kept` };
  }
  return { kept, skipped: null };
}

/** How many a `top` stage keeps of K candidates. */
export function topCount(n: TopCount, poolSize: number): number {
  if (n === 'deepswe') return Math.max(3, Math.floor(poolSize / 2));
  if (n === 'half') return Math.max(1, Math.floor(poolSize / 2));
  return n;
}

function keptBy(stage: Stage, pool: Pool, entries: readonly Entry[], order: Compare): readonly Entry[] {
  switch (stage.stage) {
    case 'keep':
      return entries.filter((entry) => satisfies(entry, stage.where));
    case 'above':
      return entries.filter((entry) => isAbove(measure(pool, entry, stage.by), stage.than));
    case 'top':
      return entries.toSorted(order).slice(0, topCount(stage.n, pool.size));
    case 'max':
      return best(entries, (entry) => measure(pool, entry, stage.by), 0);
    case 'min':
      return best(entries, (entry) => -(measure(pool, entry, stage.by) ?? Infinity), 0);
    case 'weighted':
      return best(entries, weightedSum(stage.of, entries), stage.within);
    case 'random':
    case 'lowest-id':
      return entries.toSorted(order).slice(0, 1);
  }
}

function best(entries: readonly Entry[], value: (entry: Entry) => number | null, within: number): readonly Entry[] {
  const values = entries.map((entry) => value(entry) ?? -Infinity);
  const limit = values.reduce((a, b) => Math.max(a, b), -Infinity) - within;
  return entries.filter((_, index) => (values[index] ?? -Infinity) >= limit);
}

function nobodyMeasured(stage: Stage, pool: Pool, entries: readonly Entry[]): boolean {
  switch (stage.stage) {
    case 'top':
    case 'max':
    case 'min':
      return entries.every((entry) => measure(pool, entry, stage.by) === null);
    case 'above':
      return stage.otherwise === 'keep-all' && entries.every((entry) => measure(pool, entry, stage.by) === null);
    case 'weighted':
      return entries.map(weightedSum(stage.of, entries)).every((sum) => sum === null);
    case 'keep':
    case 'random':
    case 'lowest-id':
      return false;
  }
}

function fallsBack(stage: Stage): boolean {
  if (stage.stage === 'keep') return stage.where === 'finished';
  return stage.stage !== 'above' || stage.otherwise === 'keep-all';
}

function reasonAllKept(stage: Stage): string {
  switch (stage.stage) {
    case 'keep':
    case 'above':
      return 'every candidate passes';
    case 'top':
      return 'no more candidates than it keeps';
    case 'max':
    case 'min':
    case 'weighted':
      return 'all tied';
    case 'random':
    case 'lowest-id':
      return 'one candidate left';
  }
}
