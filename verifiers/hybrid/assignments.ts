import { grouped } from '../../src/core/grouped.js';
import { seededRandom } from '../../src/core/random.js';
import type { Beta } from '../../src/core/run/fitted.js';
import { SubsetSums } from './subset-sums.js';
import { BetaTable, type TestColumn, TestTable } from './test-evidence.js';

/** What is known of the distinct patches of a pool, as far as it bears on which of them are good. */
export interface PoolModel {
  /** Log of how much likelier each patch is to be good than not, by all that speaks of it alone. */
  readonly leanings: Float64Array;
  readonly columns: readonly TestColumn[];
  /** Of the share of good patches, before anything is seen. */
  readonly share: Beta;
  /** Log of P(patch is wrong), by patch, if it is good and if it is not. */
  readonly wrong: { readonly ifGood: Float64Array; readonly ifNot: Float64Array };
  /** Whether the tests' kinds are asked for, too. */
  readonly kinds: boolean;
}

export interface Assignments {
  /** P(good) by patch, 0..1. */
  readonly good: Float64Array;
  /** P(every patch is wrong). */
  readonly allWrong: number;
  /** P(telling), P(indifferent), P(toxic) by column; empty unless asked for. */
  readonly kinds: readonly (readonly [number, number, number])[];
  /** Every assignment was gone through, or Markov chains were. */
  readonly method: 'enumerated' | 'sampled';
  /** Largest difference between the chains in any P(good); 0 when enumerated. */
  readonly spread: number;
}

/** Assignments that are gone through one by one; patches with equal outcomes are counted, not told apart. */
const MOST_ENUMERATED = 1_000_000;

/**
 * P(good) of each patch: the sum over all assignments of the patches to good and not, each weighed by the prior of its share
 * of good ones, the leanings of those it calls good, and the likelihood of the tests' outcomes (docs/posterior.md). Above
 * `mostEnumerated` assignments by Gibbs sampling, in several chains that start far apart, with fixed seeds.
 */
export function assignments(model: PoolModel, mostEnumerated = MOST_ENUMERATED): Assignments {
  const pool = new PoolState(model);
  const count = pool.groups.reduce((product, { members }) => product * (members.length + 1), 1);
  return count <= mostEnumerated ? enumerated(pool) : sampled(pool);
}

/** Patches with the same outcomes. */
interface Group {
  readonly members: readonly number[];
  /** By column, how far its state moves when one more of the group is good. */
  readonly steps: Int32Array;
}

class PoolState {
  readonly groups: readonly Group[];
  readonly tables: readonly TestTable[];
  /** Log of the prior of an assignment, by how many it calls good. */
  readonly share: Float64Array;

  constructor(readonly model: PoolModel) {
    const patches = Array.from(model.leanings, (_, patch) => patch);
    this.tables = model.columns.map((column) => new TestTable(column));
    const beta = new BetaTable(model.share, patches.length);
    this.share = Float64Array.from({ length: patches.length + 1 }, (_, good) => beta.log(good, patches.length - good));
    const rowOf = (patch: number): string =>
      model.columns.map(({ outcomes }) => SIGN.get(outcomes[patch] ?? null)).join('');
    this.groups = [...grouped(patches, rowOf).values()].map((members) => ({
      members,
      steps: this.stepsOf(members[0] ?? 0),
    }));
  }

  stepsOf(patch: number): Int32Array {
    return Int32Array.from(this.tables, ({ stride }, test) => {
      const outcome = this.model.columns[test]?.outcomes[patch] ?? null;
      return outcome === null ? 0 : outcome ? stride : 1;
    });
  }
}

const SIGN: ReadonlyMap<boolean | null, string> = new Map([
  [true, '+'],
  [false, '-'],
  [null, '?'],
]);

/** Goes through every number of good patches in every group, one step at a time (a reflected Gray code). */
function enumerated(pool: PoolState): Assignments {
  const { groups, share } = pool;
  const gathered = new Gathered(pool);
  const counts = new Int32Array(groups.length);
  const directions = new Int32Array(groups.length).fill(1);
  let good = 0;
  for (;;) {
    gathered.take(share[good] as number);
    let g = 0;
    for (; g < groups.length; g += 1) {
      const next = (counts[g] as number) + (directions[g] as number);
      if (next >= 0 && next <= (groups[g] as Group).members.length) break;
      directions[g] = -(directions[g] as number);
    }
    if (g === groups.length) return gathered.result();
    const by = directions[g] as number;
    counts[g] = (counts[g] as number) + by;
    good += by;
    gathered.move(g, by);
  }
}

/** Weights this far below the largest, as logarithms: a million of them come to 10⁻⁸ of it. */
const NEGLIGIBLE = 32;

/** Where the walk stands, and sums over where it has been, kept relative to the largest weight so far. */
class Gathered {
  private largest = -Infinity;
  private total = 0;
  private allWrong = 0;
  private readonly subsets: readonly SubsetSums[];
  /** One table after the other: the groups by count, with all of a group wrong, then the tests by state. */
  private readonly logs: Float64Array;
  private readonly wrongs: Float64Array;
  private readonly sums: Float64Array;
  /** Where the walk stands in each table. */
  private readonly at: Int32Array;
  private readonly starts: Int32Array;
  /** How many of the tables are summed up: those of the groups, and of the tests where their kinds are asked for. */
  private readonly summed: number;
  /** Logs of the groups' tables where the walk stands, and by how much more or less with every patch wrong. */
  private here = 0;
  private hereWrong = 0;

  constructor(private readonly pool: PoolState) {
    const { leanings, wrong } = pool.model;
    const real = (values: Float64Array, patch: number): number => values[patch] as number;
    this.subsets = pool.groups.map(({ members }) => new SubsetSums(members.map((patch) => real(leanings, patch))));
    const wrongs = pool.groups.map(({ members }) => {
      const sums = new SubsetSums(
        members.map((patch) => real(leanings, patch) + real(wrong.ifGood, patch) - real(wrong.ifNot, patch)),
      );
      const none = members.reduce((sum, patch) => sum + real(wrong.ifNot, patch), 0);
      return sums.bySize.map((log) => log + none);
    });
    const tables = [...this.subsets.map(({ bySize }) => bySize), ...pool.tables.map(({ logs }) => logs)];
    this.logs = joined(tables);
    this.wrongs = joined(wrongs);
    this.sums = new Float64Array(this.logs.length);
    let start = 0;
    this.starts = Int32Array.from(tables, (table) => {
      const here = start;
      start += table.length;
      return here;
    });
    this.at = this.starts.slice();
    this.summed = pool.model.kinds ? tables.length : this.subsets.length;
    for (let g = 0; g < this.subsets.length; g += 1) this.enter(g, 1);
  }

  /** One more or one less of a group is good. */
  move(group: number, by: number): void {
    const { at } = this;
    const groups = this.pool.groups.length;
    const { steps } = this.pool.groups[group] as Group;
    this.enter(group, -1);
    at[group] = (at[group] as number) + by;
    this.enter(group, 1);
    for (let t = 0; t < steps.length; t += 1) at[groups + t] = (at[groups + t] as number) + by * (steps[t] as number);
  }

  take(share: number): void {
    const { at, logs, sums } = this;
    let log = share + this.here;
    for (let i = this.subsets.length; i < at.length; i += 1) log += logs[at[i] as number] as number;
    if (log < this.largest - NEGLIGIBLE) return;
    if (log > this.largest) this.rescale(log);
    const weight = Math.exp(log - this.largest);
    this.total += weight;
    for (let i = 0; i < this.summed; i += 1) sums[at[i] as number] = (sums[at[i] as number] as number) + weight;
    this.allWrong += Math.exp(log + this.hereWrong - this.largest);
  }

  /** @param sign −1 where the walk leaves the state of a group */
  private enter(group: number, sign: 1 | -1): void {
    const at = this.at[group] as number;
    const log = this.logs[at] as number;
    this.here += sign * log;
    this.hereWrong += sign * ((this.wrongs[at] as number) - log);
  }

  result(): Assignments {
    const good = new Float64Array(this.pool.model.leanings.length);
    const { groups, tables } = this.pool;
    const table = (index: number): Float64Array => this.sums.subarray(this.starts[index], this.starts[index + 1]);
    for (const [g, { members }] of groups.entries()) {
      const shares = (this.subsets[g] as SubsetSums).marginals(table(g).map((weight) => weight / this.total));
      for (const [index, patch] of members.entries()) good[patch] = shares[index] ?? 0;
    }
    const kindsOf = (each: TestTable, t: number) => each.kindsUnder(table(groups.length + t), this.total);
    const kinds = this.pool.model.kinds ? tables.map(kindsOf) : [];
    return { good, allWrong: this.allWrong / this.total, kinds, method: 'enumerated', spread: 0 };
  }

  private rescale(log: number): void {
    const scale = Math.exp(this.largest - log);
    this.total *= scale;
    this.allWrong *= scale;
    for (let i = 0; i < this.sums.length; i += 1) this.sums[i] = (this.sums[i] as number) * scale;
    this.largest = log;
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

function sampled(pool: PoolState): Assignments {
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

/** Gibbs sampling: one patch after the other is drawn anew in proportion to what the rest makes likely. */
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

  /** @param seed 0 starts with nobody good, 1 with everybody, others at random */
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

  /** What is counted is the chance, not the draw: the same mean with less noise. */
  private redraw(patch: number, counts: boolean): void {
    const was = this.isGood[patch] === 1;
    const before = this.log();
    const moved = this.flip(patch) + this.log() - before;
    const good = 1 / (1 + Math.exp(was ? moved : -moved));
    if (counts) this.sums[patch] = (this.sums[patch] as number) + good;
    if (this.random() < good === was) this.flip(patch);
  }

  /** Offers to turn a group round, or everybody: camps that agree would never change sides one by one. */
  private turn(camp: readonly number[]): void {
    const before = this.log();
    const moved = camp.reduce((sum, patch) => sum + this.flip(patch), 0) + this.log() - before;
    if (this.random() >= Math.exp(moved)) for (const patch of camp) this.flip(patch);
  }

  /** @returns by how much the patch's own leaning moves the log of the weight */
  private flip(patch: number): number {
    const by = this.isGood[patch] === 1 ? -1 : 1;
    this.isGood[patch] = by === 1 ? 1 : 0;
    this.count += by;
    const steps = this.steps[patch] as Int32Array;
    for (let t = 0; t < steps.length; t += 1) this.states[t] = (this.states[t] as number) + by * (steps[t] as number);
    return by * (this.pool.model.leanings[patch] as number);
  }

  /** Without the leanings. */
  private log(): number {
    let log = this.pool.share[this.count] as number;
    for (let t = 0; t < this.states.length; t += 1) {
      log += (this.pool.tables[t] as TestTable).logs[this.states[t] as number] as number;
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
