import { below, seededRandom } from '../../core/random.js';
import { type Interval, real, whole, wilson } from './binomial.js';

/** The resampling units: issues, or repositories with sums over their issues. */
interface Units {
  /** Row-major, one row of `width` sums per unit. */
  readonly rows: Float64Array;
  /** Number of issues in each unit; a unit of size 1 holds the issue's own values. */
  readonly sizes: Int32Array;
  readonly width: number;
}

/** Column means by resample. */
export class Resamples {
  private readonly means: Float64Array;

  /** Draws, `count` times, as many units as there are, with replacement. Means are over the drawn issues. */
  constructor(
    units: Units,
    readonly count: number,
    seed: number,
  ) {
    const { width } = units;
    this.width = width;
    this.means = new Float64Array(count * width);
    const random = seededRandom(seed);
    const times = new Int32Array(units.sizes.length);
    for (let resample = 0; resample < count; resample += 1) {
      times.fill(0);
      for (let draw = 0; draw < times.length; draw += 1) {
        const unit = below(times.length, random);
        times[unit] = whole(times, unit) + 1;
      }
      addUp(units, times, this.means.subarray(resample * width, (resample + 1) * width));
    }
  }

  private readonly width: number;

  /** Percentile interval of a number computed from a resample's column means; null if it is not finite in some resample. */
  interval(statistic: (mean: (column: number) => number) => number): Interval | null {
    const values = new Float64Array(this.count);
    for (let resample = 0; resample < this.count; resample += 1) {
      values[resample] = statistic((column) => real(this.means, resample * this.width + column));
    }
    return between(values);
  }

  column(index: number): Interval | null {
    const values = new Float64Array(this.count);
    for (let resample = 0; resample < this.count; resample += 1) {
      values[resample] = real(this.means, resample * this.width + index);
    }
    return between(values);
  }
}

/** Percentile interval; sorts `values` in place. */
function between(values: Float64Array): Interval | null {
  if (values.some((value) => !Number.isFinite(value))) return null;
  values.sort();
  return { low: quantile(values, 0.025), high: quantile(values, 0.975) };
}

function addUp(units: Units, times: Int32Array, sums: Float64Array): void {
  const drawn: number[] = [];
  let issues = 0;
  for (let unit = 0; unit < times.length; unit += 1) {
    if (whole(times, unit) === 0) continue;
    drawn.push(unit);
    issues += whole(times, unit) * whole(units.sizes, unit);
  }
  const inFours = drawn.length - (drawn.length % 4);
  const four = new Int32Array(4);
  for (let next = 0; next < inFours; next += 4) {
    for (let nth = 0; nth < 4; nth += 1) four[nth] = drawn[next + nth] as number;
    addFour(units, four, times, sums);
  }
  for (let next = inFours; next < drawn.length; next += 1) addOne(units, drawn[next] ?? 0, times, sums);
  for (let column = 0; column < units.width; column += 1) sums[column] = real(sums, column) / issues;
}

/**
 * Adds four rows with one read and write per sum, in the same order as one row at a time, so that results are bit-identical.
 */
function addFour({ rows, width }: Units, four: Int32Array, times: Int32Array, sums: Float64Array): void {
  const [a, b, c, d] = [whole(four, 0), whole(four, 1), whole(four, 2), whole(four, 3)];
  const [ofA, ofB, ofC, ofD] = [whole(times, a), whole(times, b), whole(times, c), whole(times, d)];
  for (let column = 0; column < width; column += 1) {
    const two = real(sums, column) + ofA * real(rows, a * width + column) + ofB * real(rows, b * width + column);
    sums[column] = two + ofC * real(rows, c * width + column) + ofD * real(rows, d * width + column);
  }
}

function addOne({ rows, width }: Units, unit: number, times: Int32Array, sums: Float64Array): void {
  const weight = whole(times, unit);
  for (let column = 0; column < width; column += 1) {
    sums[column] = real(sums, column) + weight * real(rows, unit * width + column);
  }
}

/** Linear interpolation between order statistics ("type 7"). */
function quantile(sorted: Float64Array, p: number): number {
  const at = (sorted.length - 1) * p;
  const [low, high] = [Math.floor(at), Math.ceil(at)];
  return real(sorted, low) + (at - low) * (real(sorted, high) - real(sorted, low));
}

export interface RepositoryRow {
  readonly repo: string;
  readonly issues: number;
  readonly candidates: number;
  /** Mean share of right candidates. */
  readonly pass_at_1: number;
  /** Share of issues with at least one right candidate. */
  readonly pass_at_all: number;
  /** Patches actually returned from all candidates, by preset in the report's order; Wilson interval. */
  readonly picked: readonly ({
    readonly preset: string;
    readonly resolved: number;
    readonly rate: number;
  } & Interval)[];
}

interface Sums {
  issues: number;
  candidates: number;
  first: number;
  any: number;
  readonly picked: number[];
}

interface IssueOfRepository {
  readonly repo: string;
  readonly candidates: readonly { readonly resolved: boolean }[];
}

/** Totals by repository. */
export class ByRepository {
  private readonly repos = new Map<string, Sums>();

  constructor(private readonly presets: readonly string[]) {}

  /** @param picks whether each preset's pick is right, in the presets' order */
  add({ repo, candidates }: IssueOfRepository, picks: readonly boolean[]): void {
    const sums = this.repos.get(repo) ?? {
      issues: 0,
      candidates: 0,
      first: 0,
      any: 0,
      picked: this.presets.map(() => 0),
    };
    this.repos.set(repo, sums);
    const right = candidates.filter(({ resolved }) => resolved).length;
    sums.issues += 1;
    sums.candidates += candidates.length;
    sums.first += candidates.length === 0 ? 0 : right / candidates.length;
    sums.any += Number(right > 0);
    for (const [index, isRight] of picks.entries()) sums.picked[index] = (sums.picked[index] ?? 0) + Number(isRight);
  }

  /** Most issues first, then by name. */
  report(): RepositoryRow[] {
    return [...this.repos]
      .sort(([a, { issues: ofA }], [b, { issues: ofB }]) => ofB - ofA || (a < b ? -1 : 1))
      .map(([repo, { issues, candidates, first, any, picked }]) => ({
        repo,
        issues,
        candidates,
        pass_at_1: first / issues,
        pass_at_all: any / issues,
        picked: this.presets.map((preset, index) => {
          const resolved = picked[index] ?? 0;
          return { preset, resolved, rate: resolved / issues, ...wilson(resolved, issues) };
        }),
      }));
  }
}
