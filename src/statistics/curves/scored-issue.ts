import type { Entry } from '../../../verifiers/hybrid/entry.js';

/** A candidate with what only statistics may know of it. */
export interface LabelledEntry {
  readonly entry: Entry;
  /** Whether the hidden tests call it right; null when they could not be run, which counts as not right. */
  readonly resolved: boolean | null;
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
  readonly candidates: readonly LabelledEntry[];
}

/** Right candidates. */
export function countRight(issue: ScoredIssue): number {
  return issue.candidates.reduce((sum, { resolved }) => sum + (resolved === true ? 1 : 0), 0);
}

/** The number at an index known to be inside; spares the hot loops a check for `undefined`. */
export function real(values: Float64Array, index: number): number {
  return values[index] as number;
}

/** The whole number at an index known to be inside. */
export function whole(values: Int32Array, index: number): number {
  return values[index] as number;
}
