import type { Entry } from '../../../verifiers/hybrid/entry.js';
import { measure, poolOf, rate, type Pool } from '../../../verifiers/hybrid/pool.js';
import { satisfies } from '../../../verifiers/hybrid/rank-key.js';
import type { Condition, StageMeasure, Term } from '../../../verifiers/hybrid/stage.js';
import { fixedValues, type FixedValues, type GroupValues, type StepValues, type SumValues } from './step-values.js';

/** One issue's candidates as columns of numbers, each made when it is first asked for and then shared by all presets. */
export class IssueColumns {
  private readonly pool: Pool;
  private readonly measures = new Map<StageMeasure, FixedValues | GroupValues>();
  private readonly negatives = new Map<StageMeasure, FixedValues | GroupValues>();
  private readonly conditions = new Map<Condition, FixedValues>();

  constructor(readonly entries: readonly Entry[]) {
    this.pool = poolOf('', entries);
  }

  /** @param sign −1 where less is better */
  measured(by: StageMeasure, sign: 1 | -1): FixedValues | GroupValues {
    const known = sign === 1 ? this.measures : this.negatives;
    let values = known.get(by);
    if (values === undefined) known.set(by, (values = this.make(by, sign)));
    return values;
  }

  /** 1 = satisfied, 0 = not. */
  flags(where: Condition): FixedValues {
    let values = this.conditions.get(where);
    if (values === undefined) {
      values = fixedValues(this.column((entry) => (satisfies(entry, where) ? 1 : 0)));
      this.conditions.set(where, values);
    }
    return values;
  }

  summed(terms: readonly Term[]): StepValues {
    const columns = terms.map((term) => ({
      weight: term.weight,
      rates: this.column((entry) => rate(entry, term) ?? NaN),
    }));
    const known = columns.filter(({ rates }) => !rates.every(Number.isNaN));
    const sum: SumValues = {
      kind: 'sum',
      rates: known.map(({ rates }) => rates),
      weights: known.map(({ weight }) => weight),
    };
    return sum.rates.some((column) => column.some(Number.isNaN)) ? sum : fixedValues(this.total(sum));
  }

  private make(by: StageMeasure, sign: 1 | -1): FixedValues | GroupValues {
    if (by === 'cluster_size' && hasGroups(this.pool.clusters)) {
      return { kind: 'group', ...this.codes(({ fingerprint }) => fingerprint), sign, weights: null };
    }
    if (by === 'dual_agreement' && hasGroups(this.pool.behaviours)) {
      const weights = this.column(({ reproduction }) => reproduction ?? NaN);
      return { kind: 'group', ...this.codes(({ behaviour }) => behaviour ?? null), sign, weights };
    }
    return fixedValues(
      this.column((entry) => {
        const value = measure(this.pool, entry, by);
        return value === null ? -Infinity : sign * value;
      }),
    );
  }

  private total({ rates, weights }: SumValues): Float64Array {
    const totals = new Float64Array(this.entries.length).fill(rates.length === 0 ? -Infinity : 0);
    return totals.map((start, index) =>
      rates.reduce((sum, column, term) => sum + (weights[term] ?? 0) * (column[index] ?? 0), start),
    );
  }

  private column(value: (entry: Entry) => number): Float64Array {
    const column = new Float64Array(this.entries.length);
    let index = 0;
    for (const entry of this.entries) column[index++] = value(entry);
    return column;
  }

  private codes(key: (entry: Entry) => string | null): { codes: Int32Array; groups: number } {
    const known = new Map<string, number>();
    const codes = Int32Array.from(this.entries, (entry) => {
      const own = key(entry);
      if (own === null) return -1;
      const code = known.get(own) ?? known.size;
      known.set(own, code);
      return code;
    });
    return { codes, groups: known.size };
  }
}

/** Where all sizes are 1 they are so in every subset. */
function hasGroups(sizes: ReadonlyMap<string, number>): boolean {
  for (const size of sizes.values()) if (size > 1) return true;
  return false;
}
