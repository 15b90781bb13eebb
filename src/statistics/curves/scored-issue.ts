import type { Entry } from '../../../verifiers/hybrid/entry.js';
import { BadInputError } from '../../core/errors/errors.js';

/** A candidate with what only statistics may know of it. */
export interface LabelledEntry {
  readonly entry: Entry;
  /** Whether the hidden tests call it right. */
  readonly resolved: boolean;
  /** What sampling and verifying it cost, in one unit for the whole file; null when unknown. */
  readonly cost: number | null;
  /** Any further numeric column by name, e.g. context tokens. */
  readonly axes: Readonly<Record<string, number | null>>;
}

/** One row of a score matrix. */
export interface ScoredIssue {
  readonly instanceId: string;
  /** The cluster for intervals that resample whole repositories. */
  readonly repo: string;
  /** Author of each generated test, by its id; absent = one author. */
  readonly authors?: ReadonlyMap<string, string> | undefined;
  readonly candidates: readonly LabelledEntry[];
  /** Candidates that have no label: of them nothing is known, and they are in no rate. */
  readonly ungraded: number;
}

/** Those with a label, and how many have none. */
export function labelled(
  candidates: readonly (Omit<LabelledEntry, 'resolved'> & { readonly resolved: boolean | null })[],
): Pick<ScoredIssue, 'candidates' | 'ungraded'> {
  const graded = candidates.flatMap(({ resolved, ...rest }) => (resolved === null ? [] : [{ ...rest, resolved }]));
  return { candidates: graded, ungraded: candidates.length - graded.length };
}

/** Whether nothing is known of any of its candidates, which is something else than having none. */
export function isUngraded({ candidates, ungraded }: ScoredIssue): boolean {
  return candidates.length === 0 && ungraded > 0;
}

const lists = new WeakMap<readonly LabelledEntry[], readonly Entry[]>();

/** Says that these candidates are of that list of entries, one for one, of which something may be worked out already. */
export function keepEntries(candidates: readonly LabelledEntry[], entries: readonly Entry[]): void {
  if (candidates.length === entries.length) lists.set(candidates, entries);
}

/** What stages see of its candidates: one list, so that what is worked out for a list is worked out once. */
export function entriesOf({ candidates }: ScoredIssue): readonly Entry[] {
  let known = lists.get(candidates);
  if (known === undefined) lists.set(candidates, (known = candidates.map(({ entry }) => entry)));
  return known;
}

/** Right candidates. */
export function countRight(issue: ScoredIssue): number {
  return issue.candidates.reduce((sum, { resolved }) => sum + Number(resolved), 0);
}

/** The number at an index known to be inside; spares the hot loops a check for `undefined`. */
export function real(values: Float64Array, index: number): number {
  return values[index] as number;
}

/** The whole number at an index known to be inside. */
export function whole(values: Int32Array, index: number): number {
  return values[index] as number;
}

/**
 * Unbiased Pass@k of one issue: the chance that k of its n candidates, drawn without replacement, hold a right one,
 * 1 − C(n−c, k)/C(n, k) (Chen et al. 2021). Computed as a sum of logarithms: no overflow and no cancellation.
 * @param n candidates, 1 or more
 * @param c right ones among them, 0..n
 * @param k 1..n
 * @throws BadInputError for counts that are not whole or out of range
 */
export function passAtK(n: number, c: number, k: number): number {
  requireCount('n', n, 1, Number.MAX_SAFE_INTEGER);
  requireCount('c', c, 0, n);
  requireCount('k', k, 1, n);
  if (c > n - k) return 1;
  if (c === 0) return 0;
  const [drawn, others] = c < k ? [c, k] : [k, c];
  let logMiss = 0;
  for (let j = 0; j < drawn; j += 1) logMiss += Math.log1p(-others / (n - j));
  return -Math.expm1(logMiss);
}

/** Refuses what is not a whole number in a range. @throws BadInputError */
export function requireCount(name: string, value: number, from: number, to: number): void {
  if (!Number.isSafeInteger(value) || value < from || value > to) {
    throw new BadInputError(`${name} = ${value} is not a whole number from ${from} to ${to}.`, { field: name });
  }
}
