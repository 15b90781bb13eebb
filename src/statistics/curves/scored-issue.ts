import { type Entry, isEligible, patchOf, withEqualPatches } from '../../../verifiers/hybrid/entry.js';
import type { Condition, StageMeasure, Term } from '../../core/run/preset.js';
import {
  type Counted,
  countedKey,
  derivedFrom,
  type Knowledge,
  NOTHING_LEARNED,
  Pool,
  rateOf,
} from '../../../verifiers/hybrid/pool.js';
import type { Measure } from '../../core/run/verdict.js';
import { satisfies } from '../../../verifiers/hybrid/stages.js';

/** A candidate with the data that only statistics may use. */
export interface LabelledEntry {
  readonly entry: Entry;
  /** Whether it passes the hidden tests. */
  readonly resolved: boolean;
  /** Cost of sampling and verifying it, in one unit for the whole file; null if unknown. */
  readonly cost: number | null;
  /** Further numeric columns by name, e.g. context tokens. */
  readonly axes: Readonly<Record<string, number | null>>;
}

/** One row of a score matrix. */
export interface ScoredIssue {
  readonly instanceId: string;
  /** The cluster for intervals that resample whole repositories. */
  readonly repo: string;
  /** Author of each generated test, by its id; absent = one author. */
  readonly authors?: ReadonlyMap<string, string> | undefined;
  /** Measures declared by the verifiers; absent = only their names are known. */
  readonly measures?: readonly Measure[] | undefined;
  readonly candidates: readonly LabelledEntry[];
  /**
   * Of each further candidate, whose label is unknown, the reason; null = not stated. They are excluded from every rate, as if
   * they had not been sampled.
   */
  readonly unknownLabels: readonly (string | null)[];
}

/** A candidate whose label may be unknown, for a reason that may be stated. */
export type MaybeLabelled = Omit<LabelledEntry, 'resolved'> & {
  readonly resolved: boolean | null;
  readonly reason?: string | null | undefined;
};

/** Separates the candidates with a known label from the reasons why others have none. */
export function splitByLabel(candidates: readonly MaybeLabelled[]): Pick<ScoredIssue, 'candidates' | 'unknownLabels'> {
  return {
    candidates: candidates.flatMap(({ entry, resolved, cost, axes }) =>
      resolved === null ? [] : [{ entry, resolved, cost, axes }],
    ),
    unknownLabels: candidates.flatMap(({ resolved, reason = null }) => (resolved === null ? [reason] : [])),
  };
}

/** Whether the issue has candidates, and none with a known label. */
export function isUngraded({ candidates, unknownLabels }: ScoredIssue): boolean {
  return candidates.length === 0 && unknownLabels.length > 0;
}

const lists = new WeakMap<readonly LabelledEntry[], readonly Entry[]>();

/**
 * Associates candidates with an existing entry list (same order and length), so that results cached for that list are reused.
 */
export function keepEntries(candidates: readonly LabelledEntry[], entries: readonly Entry[]): void {
  if (candidates.length === entries.length) lists.set(candidates, entries);
}

/** The candidates' entries as stages see them: always the same list, so that results cached per list are computed once. */
export function entriesOf({ candidates }: ScoredIssue): readonly Entry[] {
  let known = lists.get(candidates);
  if (known === undefined) lists.set(candidates, (known = candidates.map(({ entry }) => entry)));
  return known;
}

/** Number of right candidates. */
export function countRight(issue: ScoredIssue): number {
  return issue.candidates.reduce((sum, { resolved }) => sum + Number(resolved), 0);
}

/** The grouping key counted in the pool, by measure. */
const COUNTS: Readonly<Record<string, Counted>> = {
  cluster_size: 'change',
  syntax_cluster_size: 'syntax',
  behaviour_cluster_size: 'behaviour',
  dual_agreement: 'behaviour',
};

/** Measures that need a pool of the drawn candidates. */
const OF_POOL: ReadonlySet<string> = new Set(['posterior', 'p_right', 'copeland']);

/** One issue's candidates as columns of numbers, each computed on first use and shared by all presets. */
export class IssueColumns {
  readonly entries: readonly Entry[];
  /** Equal for copies of a patch; null if all patches are distinct. */
  readonly patches: Int32Array | null;
  private readonly pool: Pool;
  private readonly columns = new Map<string, StepValues>();

  constructor(
    readonly issue: ScoredIssue,
    readonly knowledge: Knowledge = NOTHING_LEARNED,
  ) {
    this.entries = withEqualPatches(entriesOf(issue));
    this.pool = this.poolOf(this.entries);
    const { codes, groups } = this.codes(patchOf);
    this.patches = groups === codes.length ? null : codes;
  }

  /** The pool that a selection from these entries would see. */
  poolOf(entries: readonly Entry[]): Pool {
    const { instanceId, authors } = this.issue;
    return new Pool({ instanceId, entries, authors }, this.knowledge);
  }

  /**
   * @param sign −1 if lower is better
   * @param among candidates whose values matter: the others have already been dropped
   */
  measured(by: StageMeasure, sign: 1 | -1, among: Among): StepValues {
    return this.column(`${among} ${sign} ${by}`, () => this.make(by, sign, among));
  }

  /** 1 = satisfied, 0 = not. */
  flags(where: Condition): StepValues {
    return this.column(`where ${where}`, () => fixedValues(this.of((entry) => (satisfies(entry, where) ? 1 : 0))));
  }

  summed(terms: readonly Term[], among: Among): StepValues {
    const isComplete = terms.every(({ by }) => this.allOrNone(among, (entry) => rateOf(entry, by) !== null));
    const of = (pool: Pool, entry: Entry): number => pool.weighted(entry, terms) ?? -Infinity;
    return isComplete ? fixedValues(this.of((entry) => of(this.pool, entry))) : { kind: 'pool', of };
  }

  private column(key: string, make: () => StepValues): StepValues {
    let values = this.columns.get(key);
    if (values === undefined) this.columns.set(key, (values = make()));
    return values;
  }

  private make(by: StageMeasure, sign: 1 | -1, among: Among): StepValues {
    const counted = Object.hasOwn(COUNTS, by) ? COUNTS[by] : undefined;
    if (counted !== undefined) {
      const group = this.grouped(by, { key: counted, among, sign });
      if (group !== null) return group;
    }
    const of = (pool: Pool, entry: Entry): number => {
      const value = pool.value(entry, by);
      return value === null ? -Infinity : sign * value;
    };
    return this.isFixed(by, among) ? fixedValues(this.of((entry) => of(this.pool, entry))) : { kind: 'pool', of };
  }

  /**
   * Whether a candidate's value is the same in every subset: it depends on that candidate only and is known for all or none.
   */
  private isFixed(by: StageMeasure, among: Among): boolean {
    const needed = derivedFrom(by);
    if (needed !== undefined) {
      return this.entries.every((entry) => needed.every((field) => (entry[field] ?? null) === null));
    }
    if (OF_POOL.has(by)) return false;
    if ((by === 'learned' || by === 'confidence') && this.knowledge.combiner !== null) return false;
    return this.allOrNone(among, (entry) => this.pool.measure(entry, by) !== null);
  }

  /** Whether nothing stands for an unknown value: a value of any entry of the pool would stand for one that is unknown for all. */
  private allOrNone(among: Among, isKnown: (entry: Entry) => boolean): boolean {
    return this.those(among).every(isKnown) || !this.entries.some(isKnown);
  }

  private those(among: Among): readonly Entry[] {
    return among === 'all' ? this.entries : this.entries.filter(isEligible);
  }

  /**
   * Null if any candidate's group is unknown. If all groups have size 1, they have it in every subset, so values are fixed.
   */
  private grouped(
    by: StageMeasure,
    { key, among, sign }: { key: Counted; among: Among; sign: 1 | -1 },
  ): FixedValues | GroupValues | null {
    const keyOf = (entry: Entry): string | null => countedKey(entry, key);
    const reads = by === 'dual_agreement';
    if (this.those(among).some((entry) => keyOf(entry) === null || (reads && entry.reproduction === null))) return null;
    const weights = reads ? this.of(({ reproduction }) => reproduction ?? 0) : null;
    const { codes, groups } = this.codes((entry) => keyOf(entry) ?? `none: ${entry.id}`);
    if (groups < codes.length) {
      const votes = Int32Array.from(this.entries, ({ told }) => Number(told !== true));
      return { kind: 'group', codes, votes, groups, sign, weights };
    }
    return fixedValues(codes.length === 0 ? new Float64Array() : this.of((_, index) => sign * (weights?.[index] ?? 1)));
  }

  private of(value: (entry: Entry, index: number) => number): Float64Array {
    return Float64Array.from(this.entries, value);
  }

  private codes(keyOf: (entry: Entry) => string): { codes: Int32Array; groups: number } {
    const known = new Map<string, number>();
    const codes = Int32Array.from(this.entries, (entry) => {
      const key = keyOf(entry);
      const code = known.get(key) ?? known.size;
      known.set(key, code);
      return code;
    });
    return { codes, groups: known.size };
  }
}

/** The candidates whose values a stage compares. */
export type Among = 'all' | 'eligible';

/** Values by candidate, the same in every subset of the pool; higher is better, −∞ = unknown for all. */
export interface FixedValues {
  readonly kind: 'fixed';
  readonly values: Float64Array;
  /** Whether all candidates have the same value. */
  readonly constant: boolean;
}

/** Values that depend on the drawn subset: how many of its candidates with a vote carry the candidate's code, at least 1. */
export interface GroupValues {
  readonly kind: 'group';
  readonly codes: Int32Array;
  /** 0 = the candidate does not count. */
  readonly votes: Int32Array;
  readonly groups: number;
  /** −1 for `min`. */
  readonly sign: number;
  /** Null: the count itself; otherwise weight × √count. */
  readonly weights: Float64Array | null;
}

/** Values that require a pool of the drawn candidates, such as a posterior or the substitute for an unknown value. */
interface PoolValues {
  readonly kind: 'pool';
  /** Higher is better, −∞ = unknown for all. */
  readonly of: (pool: Pool, entry: Entry) => number;
}

export type StepValues = FixedValues | GroupValues | PoolValues;

export function fixedValues(values: Float64Array): FixedValues {
  const first = values[0];
  let constant = true;
  for (let i = 1; i < values.length && constant; i += 1) constant = values[i] === first;
  return { kind: 'fixed', values, constant };
}
