import { sha256 } from '../../src/core/identifier.js';
import type { Condition, Stage, TopCount } from '../../src/core/run/preset.js';
import { type Entry, patchOf } from './entry.js';
import type { Pool } from './pool.js';

/** Orders two candidates by a stage's measure: negative when the first is better, 0 when tied. */
export type Compare = (a: Entry, b: Entry) => number;

export interface StageOutcome {
  readonly kept: readonly Entry[];
  /** Why all candidates were kept; null when some were dropped. */
  readonly skipped: string | null;
}

/**
 * Applies one stage to the remaining candidates.
 * @param order the order of this stage, then of the stages after it
 */
export function runStage(stage: Stage, pool: Pool, entries: readonly Entry[], order: Compare): StageOutcome {
  if (stage.stage !== 'keep' && stage.stage !== 'above' && entries.length === 1) {
    return { kept: entries, skipped: 'one candidate left' };
  }
  if (isUnknown(stage, pool, entries)) return { kept: entries, skipped: 'unknown for every candidate' };
  const kept = keptBy(stage, pool, entries, order);
  if (kept.length === entries.length) return { kept: entries, skipped: reasonAllKept(stage) };
  if (kept.length === 0 && fallsBack(stage)) {
    return { kept: entries, skipped: `no candidate passes, so all ${entries.length} are kept` };
  }
  return { kept, skipped: null };
}

/** How many patches a `top` stage keeps of this many distinct ones. */
export function topCount(n: TopCount, patches: number): number {
  if (n === 'deepswe') return Math.max(3, Math.floor(patches / 2));
  if (n === 'half') return Math.max(1, Math.floor(patches / 2));
  return n;
}

/** The order of candidates that a stage defines. */
export function compareBy(stage: Stage, pool: Pool): Compare {
  switch (stage.stage) {
    case 'keep':
      return byValue((entry) => Number(satisfies(entry, stage.where)));
    case 'above':
      return byValue((entry) => Number(isAbove(pool.value(entry, stage.by), stage.than)));
    case 'top':
    case 'max':
    case 'min':
    case 'weighted':
      return byValue((entry) => valueIn(stage, pool, entry));
    case 'random':
      return byText(({ id }) => sha256(`${stage.seed}\n${pool.instanceId}\n${id}`));
    case 'lowest-id':
      return compareIds;
  }
}

type Ranker = Extract<Stage, { stage: 'top' | 'max' | 'min' | 'weighted' }>;

/** Higher is better; null if the value is unknown for all candidates. */
function valueIn(stage: Ranker, pool: Pool, entry: Entry): number | null {
  if (stage.stage === 'weighted') return pool.weighted(entry, stage.of);
  const value = pool.value(entry, stage.by);
  return value !== null && stage.stage === 'min' ? -value : value;
}

export function satisfies(entry: Entry, where: Condition): boolean {
  switch (where) {
    case 'has-source-change':
      return entry.has_source_change;
    case 'applies':
      return entry.applies !== false;
    case 'finished':
      return entry.finished !== false;
  }
}

function isAbove(value: number | null, than: number): boolean {
  return value !== null && value > than;
}

function keptBy(stage: Stage, pool: Pool, entries: readonly Entry[], order: Compare): readonly Entry[] {
  switch (stage.stage) {
    case 'keep':
      return entries.filter((entry) => satisfies(entry, stage.where));
    case 'above':
      return entries.filter((entry) => isAbove(pool.value(entry, stage.by), stage.than));
    case 'top':
      return firstPatches(entries.toSorted(order), topCount(stage.n, pool.patches));
    case 'max':
    case 'min':
    case 'weighted': {
      const values = entries.map((entry) => valueIn(stage, pool, entry) ?? -Infinity);
      const limit = values.reduce((a, b) => Math.max(a, b), -Infinity) - stage.within;
      return entries.filter((_, index) => (values[index] ?? -Infinity) >= limit);
    }
    case 'random':
    case 'lowest-id':
      return entries.toSorted(order).slice(0, 1);
  }
}

/** Keeps the candidates of the first n distinct patches; copies of a patch count once. */
function firstPatches(sorted: readonly Entry[], n: number): readonly Entry[] {
  const patches = new Set([...new Set(sorted.map(patchOf))].slice(0, n));
  return sorted.filter((entry) => patches.has(patchOf(entry)));
}

function isUnknown(stage: Stage, pool: Pool, entries: readonly Entry[]): boolean {
  const [first] = entries;
  if (first === undefined) return false;
  if (stage.stage === 'above') return stage.otherwise === 'keep-all' && pool.value(first, stage.by) === null;
  return ['top', 'max', 'min', 'weighted'].includes(stage.stage) && valueIn(stage as Ranker, pool, first) === null;
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
      return 'no more patches than it keeps';
    case 'max':
    case 'min':
    case 'weighted':
      return 'all tied';
    case 'random':
    case 'lowest-id':
      return 'one candidate left';
  }
}

/** Whole-number ids first, in numeric order; then the others by code unit. */
export function compareIds(a: Entry, b: Entry): number {
  const [x, y] = [wholeNumber(a.id), wholeNumber(b.id)];
  if (x !== null && y !== null && x !== y) return x - y;
  if ((x === null) !== (y === null)) return x === null ? 1 : -1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function wholeNumber(id: string): number | null {
  return /^\d{1,15}$/.test(id) ? Number(id) : null;
}

/** Highest first. */
function byValue(value: (entry: Entry) => number | null): Compare {
  return (a, b) => {
    const [x, y] = [value(a) ?? -Infinity, value(b) ?? -Infinity];
    return x === y ? 0 : x > y ? -1 : 1;
  };
}

/** Lowest first; each value is computed once. */
function byText(value: (entry: Entry) => string): Compare {
  const texts = new Map<Entry, string>();
  const text = (entry: Entry): string => {
    const known = texts.get(entry) ?? value(entry);
    texts.set(entry, known);
    return known;
  };
  return (a, b) => {
    const [x, y] = [text(a), text(b)];
    return x === y ? 0 : x < y ? -1 : 1;
  };
}
