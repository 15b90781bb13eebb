import { grouped } from '../../src/core/grouped.js';
import type { Calibration, Combiner } from '../../src/core/run/fitted.js';
import type { StageMeasure, Term } from '../../src/core/run/preset.js';
import { measureNamed, REPRODUCTION } from '../../src/core/run/verdict.js';
import { withCombiner } from './features.js';
import { changeOf, type Entry, isEligible, meanOf, patchOf, wasTested, withEqualPatches } from './entry.js';
import { STATED } from './evidence.js';
import { type Beliefs, beliefsOf } from './posterior.js';

/** The K candidates to select from. */
export interface PoolInput {
  readonly instanceId: string;
  readonly entries: readonly Entry[];
  /** Author of each generated test by its id; absent = one author. */
  readonly authors?: ReadonlyMap<string, string> | undefined;
}

/** Parameters learned from labels; null = none. */
export interface Knowledge {
  readonly combiner: Combiner | null;
  readonly calibration: Calibration | null;
}

export const NOTHING_LEARNED: Knowledge = { combiner: null, calibration: null };

/** A pool of candidates. Values that depend on the whole pool are computed on first use. */
export class Pool {
  readonly instanceId: string;
  /** With equal verdicts for equal patches. */
  readonly entries: readonly Entry[];
  private readonly counts = new Map<Counted, ReadonlyMap<string, number>>();
  private readonly fallbacks = new Map<string, number | null>();
  private believed: Beliefs | null = null;
  private uncredited: Beliefs | null = null;
  private executed: Beliefs | null = null;
  private scored: ReadonlyMap<string, Entry> | null = null;

  constructor(
    private readonly input: PoolInput,
    private readonly knowledge: Knowledge = NOTHING_LEARNED,
  ) {
    this.instanceId = input.instanceId;
    this.entries = withEqualPatches(input.entries);
  }

  /** Number of distinct patches, before any filter. */
  get patches(): number {
    return new Set(this.entries.map(patchOf)).size;
  }

  /** The entry's value in the measure's own unit; null when unknown. */
  measure(entry: Entry, by: StageMeasure): number | null {
    const read = Object.hasOwn(READ, by) ? READ[by] : undefined;
    return read === undefined ? (entry.measures?.[by] ?? null) : read(entry, this);
  }

  /** Its value, or what stands for it where it is unknown; null where it is unknown for all of the pool. */
  value(entry: Entry, by: StageMeasure): number | null {
    return this.measure(entry, by) ?? this.fallback(entry, by, by, (each) => this.measure(each, by));
  }

  /** Σ weight × rate over the terms that anybody of the pool has, with what stands for unknown ones; null without any. */
  weighted(entry: Entry, terms: readonly Term[]): number | null {
    const rates = terms.flatMap(({ by, weight }) => {
      const rate = rateOf(entry, by) ?? this.fallback(entry, by, `rate ${by}`, (each) => rateOf(each, by));
      return rate === null ? [] : [weight * rate];
    });
    return rates.length === 0 ? null : rates.reduce((sum, rate) => sum + rate, 0);
  }

  /** Number of candidates with the same key, each an independent vote; at least 1 (itself); null if the entry has no key. */
  count(entry: Entry, key: Counted): number | null {
    let counts = this.counts.get(key);
    if (counts === undefined) {
      const known = this.entries.filter((each) => countedKey(each, key) !== null && each.told !== true);
      counts = new Map(
        [...grouped(known, (each) => countedKey(each, key) ?? '')].map(([value, { length }]) => [value, length]),
      );
      this.counts.set(key, counts);
    }
    const value = countedKey(entry, key);
    return value === null ? null : (counts.get(value) ?? 1);
  }

  /** Beliefs from all evidence. */
  beliefs(): Beliefs {
    return (this.believed ??= this.byAll(true));
  }

  /** P(right) as in `beliefs`; faster, because it skips the contribution of each source. */
  right(id: string): number {
    const beliefs = this.believed ?? (this.uncredited ??= this.byAll(false));
    return beliefs.right.get(id) ?? 0;
  }

  /** P(at least one of these candidates is right). */
  anyOf(among: ReadonlySet<string>): number {
    return this.byAll(false, among).any;
  }

  private byAll(credits: boolean, among?: ReadonlySet<string>): Beliefs {
    const { authors } = this.input;
    const likelihoods = this.knowledge.calibration ?? STATED;
    return beliefsOf(this.entries, { likelihoods, authors, credits, among });
  }

  /** Beliefs from executed tests only. */
  executedBeliefs(): Beliefs {
    return (this.executed ??= this.byExecution(false));
  }

  /** The same, with the inferred kind of each generated test. */
  testBeliefs(): Beliefs {
    return this.byExecution(true);
  }

  private byExecution(kinds: boolean): Beliefs {
    const { authors } = this.input;
    const likelihoods = this.knowledge.calibration ?? STATED;
    return beliefsOf(this.entries, { likelihoods, authors, executedOnly: true, kinds });
  }

  /** The combiner's probabilities; empty without a combiner. */
  learned(id: string): Pick<Entry, 'learned' | 'confidence'> {
    const { combiner } = this.knowledge;
    this.scored ??= new Map(
      (combiner === null ? this.entries : withCombiner(this.entries, combiner)).map((entry) => [entry.id, entry]),
    );
    return this.scored.get(id) ?? {};
  }

  /** Number of patches it beat in pairwise comparison. */
  beaten(entry: Entry): number | null {
    if ((entry.beats ?? null) === null) return null;
    const beats = new Set(entry.beats);
    return new Set(this.entries.filter(({ id }) => beats.has(id)).map(patchOf)).size;
  }

  /**
   * The median of the known values (of an even number the mean of the middle two), or the lowest for a patch that is too long for
   * the judge or under which every sandbox was lost. Only patches that can be returned count, if any value of theirs is known:
   * an empty patch that a judge saw says nothing about the others.
   */
  private fallback(
    { lost = [] }: Entry,
    by: StageMeasure,
    name: string,
    valueOf: (entry: Entry) => number | null,
  ): number | null {
    const isLost = lost.some((measure) => measure === by || isFrom(measure, by));
    const key = isLost ? `lowest ${name}` : name;
    const known = this.fallbacks.get(key);
    if (known !== undefined) return known;
    const knownOf = (entries: readonly Entry[]): number[] =>
      [...grouped(entries, patchOf).values()].flatMap((copies) => meanOf(copies.map(valueOf)) ?? []);
    const returnable = knownOf(this.entries.filter(isEligible));
    const values = Float64Array.from(returnable.length > 0 ? returnable : knownOf(this.entries)).sort();
    const middle = isLost ? 0 : (values.length - 1) / 2;
    const value =
      values.length === 0 ? null : ((values[Math.floor(middle)] ?? 0) + (values[Math.ceil(middle)] ?? 0)) / 2;
    this.fallbacks.set(key, value);
    return value;
  }
}

/** Whether one measure is known only where the other is. */
function isFrom(measure: string, by: StageMeasure): boolean {
  if (by === 'posterior' || by === 'dual_agreement') return measure === REPRODUCTION.name;
  return (by === 'execution_free' || by === 'copeland') && measureNamed(measure).kind === 'judge';
}

/** Keys by which candidates can agree. */
export type Counted = 'change' | 'syntax' | 'behaviour';

/** Null when unknown; where no syntax is known, candidates agree by their changed lines. */
export function countedKey(entry: Entry, key: Counted): string | null {
  if (key === 'behaviour') return entry.behaviour ?? null;
  return (key === 'syntax' ? entry.syntax : null) ?? changeOf(entry);
}

/** How to read the measures stored in a field of their own, and those derived from the pool. */
const READ: Readonly<Record<string, (entry: Entry, pool: Pool) => number | null>> = {
  execution_free: (entry) => entry.execution_free,
  regression: (entry) => entry.regression,
  reproduction: (entry) => entry.reproduction,
  patch_size: (entry) => entry.patch_size,
  steps: (entry) => entry.steps ?? null,
  learned: (entry, pool) => pool.learned(entry.id).learned ?? null,
  confidence: (entry, pool) => pool.learned(entry.id).confidence ?? null,
  cluster_size: (entry, pool) => pool.count(entry, 'change'),
  syntax_cluster_size: (entry, pool) => pool.count(entry, (entry.syntax ?? null) === null ? 'change' : 'syntax'),
  behaviour_cluster_size: (entry, pool) => pool.count(entry, 'behaviour'),
  dual_agreement: dualAgreement,
  copeland: (entry, pool) => pool.beaten(entry),
  posterior: (entry, pool) =>
    !wasTested(entry) || !isEligible(entry) ? null : (pool.executedBeliefs().right.get(entry.id) ?? null),
  p_right: (entry, pool) => pool.beliefs().right.get(entry.id) ?? null,
};

/** By derived measure, the fields of which an entry needs one for the measure to be known. */
const DERIVED_FROM: Readonly<Record<string, readonly (keyof Entry)[]>> = {
  cluster_size: ['change', 'fingerprint'],
  syntax_cluster_size: ['syntax', 'change', 'fingerprint'],
  behaviour_cluster_size: ['behaviour'],
  dual_agreement: ['behaviour'],
  copeland: ['beats'],
  posterior: ['solved', 'observed'],
};

/** Undefined for a measure with a field of its own, or that needs none. */
export function derivedFrom(by: string): readonly (keyof Entry)[] | undefined {
  return Object.hasOwn(DERIVED_FROM, by) ? DERIVED_FROM[by] : undefined;
}

/** A measure as a share: a count divided by its maximum, a probability as it is; null when either is unknown. */
export function rateOf(entry: Entry, by: Term['by']): number | null {
  if (by !== 'regression' && by !== 'reproduction') {
    return by === 'execution_free' ? entry.execution_free : (entry.measures?.[by] ?? null);
  }
  const [value, outOf] = [entry[by], entry[`${by}_out_of`] ?? null];
  return value === null || outOf === null ? null : value / outOf;
}

/** Chen et al. 2022 (CodeT): tests solved × √(number of candidates that solve exactly these). */
function dualAgreement(entry: Entry, pool: Pool): number | null {
  const group = pool.count(entry, 'behaviour');
  return entry.reproduction === null || group === null ? null : entry.reproduction * Math.sqrt(group);
}
