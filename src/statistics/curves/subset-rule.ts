import { topCount } from '../../../verifiers/hybrid/run-stage.js';
import { real, whole } from './scored-issue.js';
import type { GroupValues, StepValues, SumValues } from './step-values.js';
import type { Step } from './steps.js';

/**
 * A preset over the numbers of one issue, for any subset of its candidates: what `selectBest` does, with ties averaged
 * instead of given to the lowest id. Holds scratch space, so use one instance at a time.
 */
export class SubsetRule {
  private readonly scores: StepScores;
  private readonly left: Int32Array;
  /** Labels, averaged where a cut split a tie. */
  private readonly judged: Float64Array;

  /** @param labels 1 = right, by candidate */
  constructor(
    private readonly steps: readonly Step[],
    private readonly labels: Float64Array,
  ) {
    this.scores = new StepScores(steps, labels.length);
    this.left = new Int32Array(labels.length);
    this.judged = labels.slice();
  }

  /** Chance, 0..1, that the preset picks a right candidate from the first `k` of `drawn`; 0 when it picks none. */
  chance(drawn: Int32Array, k: number): number {
    for (let i = 0; i < k; i += 1) this.left[i] = whole(drawn, i);
    this.judged.set(this.labels);
    this.scores.draw(drawn, k);
    let size = k;
    for (let index = 0; index < this.steps.length && size > 0; index += 1) {
      const step = this.steps[index];
      if (step === undefined) break;
      if (step.values.kind === 'sum') this.scores.sum(index, this.left, size);
      size = this.kept(step, index, size, k);
    }
    let right = 0;
    for (let i = 0; i < size; i += 1) right += real(this.judged, whole(this.left, i));
    return size === 0 ? 0 : right / size;
  }

  private kept(step: Step, index: number, size: number, k: number): number {
    switch (step.op) {
      case 'top':
        return this.cut(index, size, topCount(step.n, k));
      case 'best': {
        const best = this.highest(index, size);
        return step.mayEmpty && best === 0 ? 0 : this.filter(index, size, best - step.within);
      }
      case 'above': {
        const kept = this.filter(index, size, step.than, true);
        return kept === 0 && !step.mayEmpty ? size : kept;
      }
    }
  }

  private highest(index: number, size: number): number {
    const values = this.scores.of(index);
    let best = -Infinity;
    for (let i = 0; i < size; i += 1) best = Math.max(best, real(values, whole(this.left, i)));
    return best;
  }

  /** Moves those that reach a limit (or `exceed` it) to the front and gives their number. */
  private filter(index: number, size: number, limit: number, exceed = false): number {
    const values = this.scores.of(index);
    let kept = 0;
    for (let i = 0; i < size; i += 1) {
      const candidate = whole(this.left, i);
      const value = real(values, candidate);
      if (value > limit || (!exceed && value === limit)) this.left[kept++] = candidate;
    }
    return kept;
  }

  /** Keeps the n best by this step and those after it; a tie that the cut splits shares its mean label. */
  private cut(index: number, size: number, n: number): number {
    if (size <= n || this.highest(index, size) === -Infinity) return size;
    for (let next = index + 1; next < this.steps.length; next += 1) this.scores.sum(next, this.left, size);
    this.left.subarray(0, size).sort((a, b) => this.compareFrom(index, a, b));
    const last = whole(this.left, n - 1);
    const isTied = (at: number): boolean => this.compareFrom(index, last, whole(this.left, at)) === 0;
    let [start, end] = [n - 1, n];
    while (start > 0 && isTied(start - 1)) start -= 1;
    while (end < size && isTied(end)) end += 1;
    if (end > n) this.shareLabel(this.left.subarray(start, end));
    return n;
  }

  private shareLabel(tied: Int32Array): void {
    let sum = 0;
    for (const candidate of tied) sum += real(this.judged, candidate);
    for (const candidate of tied) this.judged[candidate] = sum / tied.length;
  }

  private compareFrom(index: number, a: number, b: number): number {
    for (let next = index; next < this.steps.length; next += 1) {
      const step = this.steps[next];
      const values = this.scores.of(next);
      const [x, y] = [real(values, a), real(values, b)];
      if (step?.op === 'above' && x > step.than === y > step.than) continue;
      if (x !== y) return x > y ? -1 : 1;
    }
    return 0;
  }
}

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
