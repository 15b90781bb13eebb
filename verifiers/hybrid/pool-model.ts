import { grouped } from '../../src/core/grouped.js';
import type { Beta } from '../../src/core/run/fitted.js';
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

/** Patches with the same outcomes. */
export interface Group {
  readonly members: readonly number[];
  /** By column, how far its state moves when one more of the group is good. */
  readonly steps: Int32Array;
}

/** A model, ready for its assignments to be gone through. */
export class PoolState {
  readonly groups: readonly Group[];
  readonly tables: readonly TestTable[];
  /** Log of the prior of an assignment, by how many it calls good. */
  readonly share: Float64Array;

  constructor(readonly model: PoolModel) {
    const patches = Array.from(model.leanings, (_, patch) => patch);
    this.tables = model.columns.map((column) => TestTable.of(column));
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
