import { topCount } from '../../../verifiers/hybrid/stages.js';
import type { IssueColumns } from './issue-columns.js';
import { real, whole } from './scored-issue.js';
import type { GroupValues, StepValues } from './step-values.js';
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
    private readonly columns: IssueColumns,
    private readonly labels: Float64Array,
  ) {
    this.scores = new StepScores(steps, columns);
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
      size = this.kept(step, index, size, drawn.subarray(0, k));
    }
    let right = 0;
    for (let i = 0; i < size; i += 1) right += real(this.judged, whole(this.left, i));
    return size === 0 ? 0 : right / size;
  }

  private kept(step: Step, index: number, size: number, drawn: Int32Array): number {
    switch (step.op) {
      case 'top':
        return this.cut(index, size, topCount(step.n, this.patchesIn(drawn)));
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

  /** Keeps the n best patches by this step and those after it; a tie that the cut splits shares its mean label. */
  private cut(index: number, size: number, n: number): number {
    if (size <= n || this.highest(index, size) === -Infinity) return size;
    const left = this.left.subarray(0, size).sort((a, b) => this.compareFrom(index, a, b) || a - b);
    const [inside, border] = this.firstPatches(left, n);
    const tied = [...left].filter((candidate) => this.compareFrom(index, border, candidate) === 0);
    if (tied.some((candidate) => !inside.has(this.patch(candidate)))) this.shareLabel(tied);
    let kept = 0;
    for (const candidate of left.slice()) if (inside.has(this.patch(candidate))) this.left[kept++] = candidate;
    return kept;
  }

  /** The first n different patches, and the candidate that brought the last of them. */
  private firstPatches(sorted: Int32Array, n: number): [ReadonlySet<number>, number] {
    const inside = new Set<number>();
    let last = -1;
    for (const candidate of sorted) {
      if (inside.size === n) break;
      if (!inside.has(this.patch(candidate))) last = candidate;
      inside.add(this.patch(candidate));
    }
    return [inside, last];
  }

  private patch(candidate: number): number {
    return this.columns.patches === null ? candidate : whole(this.columns.patches, candidate);
  }

  private patchesIn(drawn: Int32Array): number {
    return this.columns.patches === null ? drawn.length : new Set(drawn.map((each) => this.patch(each))).size;
  }

  private shareLabel(tied: readonly number[]): void {
    const sum = tied.reduce((total, candidate) => total + real(this.judged, candidate), 0);
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
class StepScores {
  private readonly values: readonly StepValues[];
  private readonly current: readonly Float64Array[];
  private readonly counts: readonly Int32Array[];
  private readonly asksPool: boolean;

  constructor(
    steps: readonly Step[],
    private readonly columns: IssueColumns,
  ) {
    const n = columns.entries.length;
    this.values = steps.map(({ values }) => values);
    this.current = this.values.map((values) => (values.kind === 'fixed' ? values.values : new Float64Array(n)));
    this.counts = this.values.map((values) => new Int32Array(values.kind === 'group' ? values.groups : 0));
    this.asksPool = this.values.some(({ kind }) => kind === 'pool');
  }

  /** By candidate; only those of the draw mean anything. */
  of(index: number): Float64Array {
    return this.current[index] as Float64Array;
  }

  /** Fills what depends on the whole draw, before anybody of it is dropped. */
  draw(drawn: Int32Array, k: number): void {
    if (this.asksPool) this.fillByPool(drawn.subarray(0, k));
    for (let index = 0; index < this.values.length; index += 1) {
      const values = this.values[index];
      if (values?.kind === 'group') this.fillGroups(values, drawn, k, index);
    }
  }

  private fillByPool(drawn: Int32Array): void {
    const entries = Array.from(drawn, (candidate) => this.columns.entries[candidate]).filter(
      (each) => each !== undefined,
    );
    const pool = this.columns.poolOf(entries);
    for (const [index, values] of this.values.entries()) {
      if (values.kind !== 'pool') continue;
      const scores = this.of(index);
      for (const [at, entry] of entries.entries()) scores[whole(drawn, at)] = values.of(pool, entry);
    }
  }

  private fillGroups({ codes, weights, sign }: GroupValues, drawn: Int32Array, k: number, index: number): void {
    const counts = this.counts[index] as Int32Array;
    const scores = this.of(index);
    counts.fill(0);
    for (let i = 0; i < k; i += 1) {
      const code = whole(codes, whole(drawn, i));
      counts[code] = whole(counts, code) + 1;
    }
    for (let i = 0; i < k; i += 1) {
      const candidate = whole(drawn, i);
      const count = whole(counts, whole(codes, candidate));
      scores[candidate] = sign * (weights === null ? count : real(weights, candidate) * Math.sqrt(count));
    }
  }
}
