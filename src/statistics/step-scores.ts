import { real, whole } from './cells.js';
import type { GroupValues, StepValues, SumValues } from './step-values.js';
import type { Step } from './steps.js';

/** The values each step goes by, for one draw of candidates after the other. */
export class StepScores {
  private readonly values: readonly StepValues[];
  private readonly current: readonly Float64Array[];
  private readonly counts: readonly Int32Array[];

  constructor(steps: readonly Step[], n: number) {
    this.values = steps.map(({ values }) => values);
    this.current = this.values.map((values) => (values.kind === 'fixed' ? values.values : new Float64Array(n)));
    this.counts = this.values.map((values) => new Int32Array(values.kind === 'group' ? values.groups : 0));
  }

  /** By candidate; only those of the draw mean anything. */
  of(index: number): Float64Array {
    return this.current[index] as Float64Array;
  }

  /** Fills what depends on the whole draw, before anybody of it is dropped. */
  draw(drawn: Int32Array, k: number): void {
    for (let index = 0; index < this.values.length; index += 1) {
      const values = this.values[index];
      if (values?.kind === 'scored') values.score(drawn, k, this.of(index));
      if (values?.kind === 'group') this.fillGroups(values, drawn, k, index);
    }
  }

  /** Fills a weighted sum for those still in the running; other steps stay as they are. */
  sum(index: number, left: Int32Array, size: number): void {
    const values = this.values[index];
    if (values?.kind === 'sum') fillSums(values, left.subarray(0, size), this.of(index));
  }

  private fillGroups({ codes, weights, sign }: GroupValues, drawn: Int32Array, k: number, index: number): void {
    const counts = this.counts[index] as Int32Array;
    const scores = this.of(index);
    counts.fill(0);
    for (let i = 0; i < k; i += 1) {
      const code = whole(codes, whole(drawn, i));
      if (code >= 0) counts[code] = whole(counts, code) + 1;
    }
    for (let i = 0; i < k; i += 1) {
      const candidate = whole(drawn, i);
      const code = whole(codes, candidate);
      const count = code < 0 ? NaN : whole(counts, code);
      const score = weights === null ? count : real(weights, candidate) * Math.sqrt(count);
      scores[candidate] = Number.isNaN(score) ? -Infinity : sign * score;
    }
  }
}

function fillSums({ rates, weights }: SumValues, left: Int32Array, scores: Float64Array): void {
  const known = rates.map((column) => left.some((candidate) => !Number.isNaN(real(column, candidate))));
  const nothingKnown = !known.includes(true);
  for (const candidate of left) {
    let sum = 0;
    for (const [t, column] of rates.entries()) {
      if (known[t] === true) sum += (weights[t] ?? 0) * real(column, candidate);
    }
    scores[candidate] = nothingKnown || Number.isNaN(sum) ? -Infinity : sum;
  }
}
