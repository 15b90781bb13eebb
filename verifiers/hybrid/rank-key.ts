import { sha256 } from '../../src/core/fingerprint.js';
import type { Entry } from './entry.js';
import { measure, rate, type Pool } from './pool.js';
import type { Condition, Stage, Term } from './stage.js';

/** Orders two candidates by one stage's own measure: negative when the first is better, 0 when tied. */
export type Compare = (a: Entry, b: Entry) => number;

/** A stage's order of a pool's candidates. Unknown values come last and tie with each other. */
export function compareBy(stage: Stage, pool: Pool, entries: readonly Entry[]): Compare {
  switch (stage.stage) {
    case 'keep':
      return byValue((entry) => Number(satisfies(entry, stage.where)));
    case 'above':
      return byValue((entry) => Number(isAbove(measure(pool, entry, stage.by), stage.than)));
    case 'top':
    case 'max':
      return byValue((entry) => measure(pool, entry, stage.by));
    case 'min':
      return byValue((entry) => negative(measure(pool, entry, stage.by)));
    case 'weighted': {
      const sum = weightedSum(stage.of, entries);
      return byValue(sum);
    }
    case 'random':
      return byText(({ id }) => sha256(`${stage.seed}\n${pool.instanceId}\n${id}`));
    case 'lowest-id':
      return compareIds;
  }
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

export function isAbove(value: number | null, than: number): boolean {
  return value !== null && value > than;
}

/**
 * Σ weight × rate over the terms somebody of the pool has. A candidate without one of those is unknown (null), and so is
 * everybody when nobody has any.
 */
export function weightedSum(terms: readonly Term[], entries: readonly Entry[]): (entry: Entry) => number | null {
  const known = terms.filter((term) => entries.some((entry) => rate(entry, term) !== null));
  return (entry) => {
    const rates = known.map((term) => ({ weight: term.weight, rate: rate(entry, term) }));
    if (rates.length === 0 || rates.some((each) => each.rate === null)) return null;
    return rates.reduce((sum, each) => sum + each.weight * (each.rate ?? 0), 0);
  };
}

/** Ids that are whole numbers come first and in numeric order, the others by code unit. */
export function compareIds(a: Entry, b: Entry): number {
  const [x, y] = [wholeNumber(a.id), wholeNumber(b.id)];
  if (x !== null && y !== null && x !== y) return x - y;
  if ((x === null) !== (y === null)) return x === null ? 1 : -1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

function wholeNumber(id: string): number | null {
  return /^\d{1,15}$/.test(id) ? Number(id) : null;
}

function negative(value: number | null): number | null {
  return value === null ? null : -value;
}

/** Highest first, null last. */
function byValue(value: (entry: Entry) => number | null): Compare {
  return (a, b) => {
    const [x, y] = [value(a) ?? -Infinity, value(b) ?? -Infinity];
    return x === y ? 0 : x > y ? -1 : 1;
  };
}

/** Lowest first; a value is worked out once. */
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
