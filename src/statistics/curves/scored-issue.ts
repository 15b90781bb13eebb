import { type Entry, isEligible, patchOf, withEqualPatches } from '../../../verifiers/hybrid/entry.js';
import { BadInputError } from '../../core/errors/errors.js';
import type { Condition, StageMeasure, Term } from '../../core/run/preset.js';
import { type Counted, type Knowledge, NEEDED, NOTHING_LEARNED, Pool, rateOf } from '../../../verifiers/hybrid/pool.js';
import type { Measure } from '../../core/run/verdict.js';
import { satisfies } from '../../../verifiers/hybrid/stages.js';

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
  /** What the verifiers declared; absent = only their names are known. */
  readonly measures?: readonly Measure[] | undefined;
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

/** Refuses what is not a whole number in a range. @throws BadInputError */
export function requireCount(name: string, value: number, from: number, to: number): void {
  if (!Number.isSafeInteger(value) || value < from || value > to) {
    throw new BadInputError(`${name} = ${value} is not a whole number from ${from} to ${to}.`, { field: name });
  }
}

/** What is counted in the pool, by measure. */
const COUNTS: Readonly<Record<string, Counted>> = {
  cluster_size: 'fingerprint',
  syntax_cluster_size: 'syntax',
  behaviour_cluster_size: 'behaviour',
  dual_agreement: 'behaviour',
};

/** Measures that a pool of the drawn candidates has to work out. */
const OF_POOL: ReadonlySet<string> = new Set(['posterior', 'p_right', 'copeland']);

/** One issue's candidates as columns of numbers, each made when it is first asked for and then shared by all presets. */
export class IssueColumns {
  readonly entries: readonly Entry[];
  /** Equal for copies of one patch; null where all patches are different. */
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

  /** What a selection would see of some of them. */
  poolOf(entries: readonly Entry[]): Pool {
    const { instanceId, authors } = this.issue;
    return new Pool({ instanceId, entries, authors }, this.knowledge);
  }

  /**
   * @param sign −1 where less is better
   * @param among those whose values matter: the others have been dropped before
   */
  measured(by: StageMeasure, sign: 1 | -1, among: Among): StepValues {
    return this.column(`${among} ${sign} ${by}`, () => this.make(by, sign, among));
  }

  /** 1 = satisfied, 0 = not. */
  flags(where: Condition): StepValues {
    return this.column(`where ${where}`, () => fixedValues(this.of((entry) => (satisfies(entry, where) ? 1 : 0))));
  }

  summed(terms: readonly Term[], among: Among): StepValues {
    const entries = this.those(among);
    const isComplete = terms.every(({ by }) => allOrNone(entries, (entry) => rateOf(entry, by) !== null));
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

  /** Whether a candidate's value is the same in every subset: it is its own, and known of all or of none. */
  private isFixed(by: StageMeasure, among: Among): boolean {
    const entries = this.those(among);
    const needed = Object.hasOwn(NEEDED, by) ? NEEDED[by] : undefined;
    if (needed !== undefined) return entries.every((entry) => (entry[needed] ?? null) === null);
    if (OF_POOL.has(by)) return false;
    if ((by === 'learned' || by === 'confidence') && this.knowledge.combiner !== null) return false;
    return allOrNone(entries, (entry) => this.pool.measure(entry, by) !== null);
  }

  private those(among: Among): readonly Entry[] {
    return among === 'all' ? this.entries : this.entries.filter(isEligible);
  }

  /** Null where the count of somebody is unknown. Where all sizes are 1 they are so in every subset. */
  private grouped(
    by: StageMeasure,
    { key, among, sign }: { key: Counted; among: Among; sign: 1 | -1 },
  ): FixedValues | GroupValues | null {
    const keyOf = (entry: Entry): string | null => entry[key] ?? (key === 'syntax' ? entry.fingerprint : null);
    const reads = by === 'dual_agreement';
    if (this.those(among).some((entry) => keyOf(entry) === null || (reads && entry.reproduction === null))) return null;
    const weights = reads ? this.of(({ reproduction }) => reproduction ?? 0) : null;
    const { codes, groups } = this.codes((entry) => keyOf(entry) ?? `none: ${entry.id}`);
    if (groups < codes.length) return { kind: 'group', codes, groups, sign, weights };
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

/** Whose values a stage goes by. */
export type Among = 'all' | 'eligible';

function allOrNone(entries: readonly Entry[], isKnown: (entry: Entry) => boolean): boolean {
  const known = entries.filter(isKnown).length;
  return known === 0 || known === entries.length;
}

/** Values by candidate, higher better, −∞ = unknown for all: the same in every subset of the pool. */
export interface FixedValues {
  readonly kind: 'fixed';
  readonly values: Float64Array;
  /** All candidates have the same. */
  readonly constant: boolean;
}

/** Values that depend on who else was drawn: how many of the subset carry the candidate's code. */
export interface GroupValues {
  readonly kind: 'group';
  readonly codes: Int32Array;
  readonly groups: number;
  /** −1 for `min`. */
  readonly sign: number;
  /** Null: the count itself; else the weight × √count. */
  readonly weights: Float64Array | null;
}

/** Values that only a pool of the drawn candidates can tell, as a posterior or what stands in for an unknown one. */
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
