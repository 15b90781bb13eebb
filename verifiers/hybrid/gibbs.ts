import { seededRandom } from '../../src/core/random.js';
import type { Assignments, PoolState } from './pool-model.js';
import type { TestTable } from './test-evidence.js';

const CHAINS = 4;
const BURN_IN = 200;
const SWEEPS = 1_500;

/** By Gibbs sampling, in several chains that start far apart, with fixed seeds. */
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
