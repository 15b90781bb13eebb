import { type Assignments, type Group, type PoolModel, PoolState, SubsetSums } from './pool-model.js';
import type { OutcomeTable } from './outcome-tables.js';
import { seededRandom } from '../../src/core/random.js';

/** Largest number of assignments to enumerate; patches with equal outcomes are counted, not distinguished. */
const MOST_ENUMERATED = 1_000_000;

/**
 * P(good) of each patch: a sum over all assignments of patches to good and not good, each weighted by the prior of its share of
 * good patches, the leanings of those, and the likelihood of the test outcomes (docs/posterior.md). Above `mostEnumerated`
 * assignments it uses Gibbs sampling, with several chains that start far apart and fixed seeds.
 */
export function assignments(model: PoolModel, mostEnumerated = MOST_ENUMERATED): Assignments {
  const pool = new PoolState(model);
  const count = pool.groups.reduce((product, { members }) => product * (members.length + 1), 1);
  return count <= mostEnumerated ? enumerated(pool) : sampled(pool);
}

/**
 * Visits every combination of good counts per group, changing one count by one at each step (a reflected Gray code: the first
 * group moves at every other step, the next one half as often, and so on).
 */
function enumerated(pool: PoolState): Assignments {
  const { groups } = pool;
  const walk = new Walk(pool);
  const counts = new Int32Array(groups.length);
  const directions = new Int32Array(groups.length).fill(1);
  for (;;) {
    walk.take();
    let g = 0;
    for (; g < groups.length; g += 1) {
      const next = (counts[g] as number) + (directions[g] as number);
      if (next >= 0 && next <= (groups[g] as Group).members.length) break;
      directions[g] = -(directions[g] as number);
    }
    if (g === groups.length) return walk.result();
    const by = directions[g] as number;
    counts[g] = (counts[g] as number) + by;
    walk.move(g, by);
  }
}

/** Weights this far below the largest, in logs, are skipped: a million of them amount to 10⁻⁸ of it. */
const NEGLIGIBLE = 32;

/**
 * Current position of the walk, and sums over the visited positions, relative to the largest weight so far. Products over
 * groups are cached as suffixes (from the last group down to each one), so that a step updates only what changed.
 */
class Walk {
  private largest = -Infinity;
  private allWrong = 0;
  private goodCount = 0;
  /** Log-likelihood of the tests at the current position. */
  private tested = 0;
  private readonly subsets: readonly SubsetSums[];
  private readonly groups: Tables;
  private readonly tests: Tables;
  /** By group and good count, P(all patches of the group are wrong). */
  private readonly wrongs: Float64Array;
  /** Suffixes from each group on: the sum of their logs, and the product of their P(all wrong). */
  private readonly logFrom: Float64Array;
  private readonly wrongFrom: Float64Array;
  /** Weight gathered since the group last moved; the last entry is the total. */
  private readonly gathered: Float64Array;

  constructor(private readonly pool: PoolState) {
    const { leanings, wrong } = pool.model;
    const real = (values: Float64Array, patch: number): number => values[patch] as number;
    this.subsets = pool.groups.map(({ members }) => new SubsetSums(members.map((patch) => real(leanings, patch))));
    const wrongs = pool.groups.map(({ members }, g) => {
      const sums = new SubsetSums(
        members.map((patch) => real(leanings, patch) + real(wrong.ifGood, patch) - real(wrong.ifNot, patch)),
      );
      const none = members.reduce((sum, patch) => sum + real(wrong.ifNot, patch), 0);
      const { bySize } = this.subsets[g] as SubsetSums;
      return sums.bySize.map((log, size) => Math.exp(log + none - (bySize[size] as number)));
    });
    this.groups = new Tables(this.subsets.map(({ bySize }) => bySize));
    this.tests = new Tables(pool.tables.map(({ logs }) => logs));
    this.wrongs = joined(wrongs);
    const count = pool.groups.length;
    this.logFrom = new Float64Array(count + 1);
    this.wrongFrom = new Float64Array(count + 1).fill(1);
    this.gathered = new Float64Array(count + 1);
    this.enter(count - 1);
    for (const at of this.tests.at) this.tested += this.tests.values[at] as number;
  }

  /** Changes the number of good patches of a group by one. */
  move(group: number, by: number): void {
    this.flush(group);
    const { at } = this.groups;
    at[group] = (at[group] as number) + by;
    this.goodCount += by;
    this.enter(group);
    const { steps } = this.pool.groups[group] as Group;
    const { at: states, values } = this.tests;
    let log = 0;
    for (let t = 0; t < steps.length; t += 1) {
      const state = (states[t] as number) + by * (steps[t] as number);
      states[t] = state;
      log += values[state] as number;
    }
    this.tested = log;
  }

  take(): void {
    const log = (this.pool.share[this.goodCount] as number) + (this.logFrom[0] as number) + this.tested;
    if (log < this.largest - NEGLIGIBLE) return;
    if (log > this.largest) this.rescale(log);
    const weight = Math.exp(log - this.largest);
    this.gathered[0] = (this.gathered[0] as number) + weight;
    this.allWrong += weight * (this.wrongFrom[0] as number);
    if (!this.pool.model.kinds) return;
    const { at, sums } = this.tests;
    for (let t = 0; t < at.length; t += 1) sums[at[t] as number] = (sums[at[t] as number] as number) + weight;
  }

  result(): Assignments {
    this.flush(this.pool.groups.length - 1);
    const good = new Float64Array(this.pool.model.leanings.length);
    const { groups, tables } = this.pool;
    const total = this.gathered[groups.length] as number;
    for (const [g, { members }] of groups.entries()) {
      const shares = (this.subsets[g] as SubsetSums).marginals(this.groups.sumsOf(g).map((weight) => weight / total));
      for (const [index, patch] of members.entries()) good[patch] = shares[index] ?? 0;
    }
    const kindsOf = (each: OutcomeTable, t: number) => each.kindsUnder(this.tests.sumsOf(t), total);
    const kinds = this.pool.model.kinds ? tables.map(kindsOf) : [];
    return { good, allWrong: this.allWrong / total, kinds, method: 'enumerated', spread: 0 };
  }

  /** Credits the weight gathered at the current positions of groups 0 to `group`, before it moves. */
  private flush(group: number): void {
    const { gathered, groups } = this;
    for (let g = 0; g <= group; g += 1) {
      const weight = gathered[g] as number;
      groups.sums[groups.at[g] as number] = (groups.sums[groups.at[g] as number] as number) + weight;
      gathered[g + 1] = (gathered[g + 1] as number) + weight;
      gathered[g] = 0;
    }
  }

  private enter(group: number): void {
    for (let g = group; g >= 0; g -= 1) {
      const at = this.groups.at[g] as number;
      this.logFrom[g] = (this.logFrom[g + 1] as number) + (this.groups.values[at] as number);
      this.wrongFrom[g] = (this.wrongFrom[g + 1] as number) * (this.wrongs[at] as number);
    }
  }

  private rescale(log: number): void {
    const scale = Math.exp(this.largest - log);
    this.allWrong *= scale;
    for (const sums of [this.gathered, this.groups.sums, this.tests.sums]) {
      for (let i = 0; i < sums.length; i += 1) sums[i] = (sums[i] as number) * scale;
    }
    this.largest = log;
  }
}

/** Concatenated tables, with the current position and the weight gathered per position in each. */
class Tables {
  readonly values: Float64Array;
  readonly sums: Float64Array;
  readonly at: Int32Array;
  private readonly starts: readonly number[];

  constructor(tables: readonly Float64Array[]) {
    this.values = joined(tables);
    this.sums = new Float64Array(this.values.length);
    let start = 0;
    this.starts = [...tables, new Float64Array(0)].map((table) => (start += table.length) - table.length);
    this.at = Int32Array.from(this.starts.slice(0, -1));
  }

  sumsOf(table: number): Float64Array {
    return this.sums.subarray(this.starts[table], this.starts[table + 1]);
  }
}

function joined(tables: readonly Float64Array[]): Float64Array {
  const all = new Float64Array(tables.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const table of tables) {
    all.set(table, at);
    at += table.length;
  }
  return all;
}

const CHAINS = 4;
const BURN_IN = 200;
const SWEEPS = 1_500;

/** Gibbs sampling with several chains that start far apart, with fixed seeds. */
export function sampled(pool: PoolState): Assignments {
  const chains = Array.from({ length: CHAINS }, (_, seed) => new Chain(pool, seed));
  for (const chain of chains) chain.run();
  const mean = (of: (chain: Chain) => number): number => chains.reduce((sum, chain) => sum + of(chain), 0) / CHAINS;
  let spread = 0;
  const good = pool.model.leanings.map((_, patch) => {
    const shares = chains.map((chain) => chain.good(patch));
    spread = Math.max(spread, Math.max(...shares) - Math.min(...shares));
    return mean((chain) => chain.good(patch));
  });
  const tables = pool.model.kinds ? pool.tables : [];
  const kinds = tables.map((table, test) => {
    const visits = table.logs.map((_, state) => mean((chain) => chain.visited(test, state)));
    return table.kindsUnder(visits, SWEEPS);
  });
  return { good, allWrong: mean((chain) => chain.allWrong()), kinds, method: 'sampled', spread };
}

/** One Gibbs chain: redraws one patch after the other, conditional on all others. */
class Chain {
  private readonly isGood: Uint8Array;
  private readonly states: Int32Array;
  private readonly steps: readonly Int32Array[];
  private readonly sums: Float64Array;
  private readonly visits: readonly Float64Array[];
  private readonly random: () => number;
  private readonly camps: readonly (readonly number[])[];
  private count = 0;
  private wrong = 0;

  /** @param seed 0 starts with no patch good, 1 with all good, others at random */
  constructor(
    private readonly pool: PoolState,
    seed: number,
  ) {
    const patches = Array.from(pool.model.leanings, (_, patch) => patch);
    this.random = seededRandom(seed);
    this.isGood = new Uint8Array(patches.length);
    this.states = new Int32Array(pool.tables.length);
    this.steps = patches.map((patch) => pool.stepsOf(patch));
    this.sums = new Float64Array(patches.length);
    this.visits = pool.tables.map(({ logs }) => new Float64Array(logs.length));
    this.camps = [patches, ...pool.groups.map(({ members }) => members).filter(({ length }) => length > 1)];
    for (const patch of patches) if (seed === 1 || (seed > 1 && this.random() < 0.5)) this.flip(patch);
  }

  run(): void {
    for (let sweep = 0; sweep < BURN_IN + SWEEPS; sweep += 1) {
      const counts = sweep >= BURN_IN;
      for (const camp of this.camps) this.turn(camp);
      for (let patch = 0; patch < this.isGood.length; patch += 1) this.redraw(patch, counts);
      if (!counts) continue;
      this.wrong += this.chanceAllWrong();
      for (let t = 0; t < this.states.length; t += 1) {
        const visits = this.visits[t] as Float64Array;
        visits[this.states[t] as number] = (visits[this.states[t] as number] as number) + 1;
      }
    }
  }

  good(patch: number): number {
    return (this.sums[patch] as number) / SWEEPS;
  }

  visited(test: number, state: number): number {
    return this.visits[test]?.[state] ?? 0;
  }

  allWrong(): number {
    return this.wrong / SWEEPS;
  }

  /** Accumulates the conditional probability instead of the draw: same mean, less variance. */
  private redraw(patch: number, counts: boolean): void {
    const was = this.isGood[patch] === 1;
    const before = this.log();
    const moved = this.flip(patch) + this.log() - before;
    const good = 1 / (1 + Math.exp(was ? moved : -moved));
    if (counts) this.sums[patch] = (this.sums[patch] as number) + good;
    if (this.random() < good === was) this.flip(patch);
  }

  /** Proposes to flip a whole group, or all patches: groups that agree would never change sides one patch at a time. */
  private turn(camp: readonly number[]): void {
    const before = this.log();
    const moved = camp.reduce((sum, patch) => sum + this.flip(patch), 0) + this.log() - before;
    if (this.random() >= Math.exp(moved)) for (const patch of camp) this.flip(patch);
  }

  /** @returns the change in log weight due to the patch's own leaning */
  private flip(patch: number): number {
    const by = this.isGood[patch] === 1 ? -1 : 1;
    this.isGood[patch] = by === 1 ? 1 : 0;
    this.count += by;
    const steps = this.steps[patch] as Int32Array;
    for (let t = 0; t < steps.length; t += 1) this.states[t] = (this.states[t] as number) + by * (steps[t] as number);
    return by * (this.pool.model.leanings[patch] as number);
  }

  /** Log weight without the leanings. */
  private log(): number {
    let log = this.pool.share[this.count] as number;
    for (let t = 0; t < this.states.length; t += 1) {
      log += (this.pool.tables[t] as OutcomeTable).logs[this.states[t] as number] as number;
    }
    return log;
  }

  private chanceAllWrong(): number {
    const { ifGood, ifNot } = this.pool.model.wrong;
    let log = 0;
    for (let patch = 0; patch < this.isGood.length; patch += 1) {
      log += (this.isGood[patch] === 1 ? ifGood[patch] : ifNot[patch]) as number;
    }
    return Math.exp(log);
  }
}
