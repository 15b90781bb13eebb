import fc from 'fast-check';
import { assignments } from '../../../../verifiers/hybrid/assignments.js';
import type { ObservedColumn, TestColumn } from '../../../../verifiers/hybrid/outcome-tables.js';
import { type PoolModel, SubsetSums } from '../../../../verifiers/hybrid/pool-model.js';

type Prior = readonly [number, number];

/** ∫ p^x (1−p)^y Beta(p; a, b) dp by its recursion. */
function beta([a, b]: Prior, x: number, y: number): number {
  let value = 1;
  for (let n = 0; n < x; n += 1) value *= (a + n) / (a + b + n);
  for (let n = 0; n < y; n += 1) value *= (b + n) / (a + b + x + n);
  return value;
}

/** Telling, indifferent and toxic, as docs/posterior.md has them. */
const KINDS: readonly ((rp: number, rf: number, wp: number, wf: number) => number)[] = [
  (rp, rf, wp, wf) => 0.5 * beta([9, 1], rp, rf) * beta([1, 2], wp, wf),
  (rp, rf, wp, wf) => 0.49 * beta([0.5, 0.5], rp + wp, rf + wf),
  (rp, rf, wp, wf) => 0.01 * beta([1, 6], rp, rf) * beta([2, 1], wp, wf),
];

interface Found {
  readonly good: readonly number[];
  readonly kinds: readonly (readonly number[])[];
  readonly allWrong: number;
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

/** The chance that these fall into their classes one after the other, each a new one with 1 / (1 + those before). */
function byChance(classes: readonly number[]): number {
  return classes.reduce((chance, own, index) => {
    const before = classes.slice(0, index);
    const alike = before.filter((each) => each === own).length;
    return (chance * (alike === 0 ? 1 : alike)) / (1 + before.length);
  }, 1);
}

/** Likelihoods of the classes: any of them may be the right one, or none; or they say nothing. */
function byKindObserved({ classes }: ObservedColumn, isGood: readonly boolean[]): number[] {
  const known = classes.flatMap((own, patch) => (own === null ? [] : [{ own, good: isGood[patch] === true }]));
  const telling = [null, ...new Set(known.map(({ own }) => own))].map((right) => {
    const count = (good: boolean, inIt: boolean): number =>
      known.filter((each) => each.good === good && (each.own === right) === inIt).length;
    const others = known.filter(({ own }) => own !== right).map(({ own }) => own);
    return (
      beta([9, 1], count(true, true), count(true, false)) *
      beta([1, 2], count(false, true), count(false, false)) *
      byChance(others)
    );
  });
  return [0.5 * sum(telling), 0.5 * byChance(known.map(({ own }) => own)), 0];
}

function add(to: number[], values: readonly number[]): void {
  for (const [index, value] of values.entries()) to[index] = (to[index] as number) + value;
}

/** Likelihoods of a test's outcomes under each kind. */
function byKind({ outcomes }: TestColumn, isGood: readonly boolean[]): number[] {
  const count = (side: boolean, passed: boolean): number =>
    outcomes.filter((outcome, index) => isGood[index] === side && outcome === passed).length;
  return KINDS.map((kind) => kind(count(true, true), count(true, false), count(false, true), count(false, false)));
}

/** The same by adding up over each of the 2^n assignments. */
function bruteForce({ leanings, columns, observed = [], share, wrong }: PoolModel): Found {
  const n = leanings.length;
  let [total, allWrong] = [0, 0];
  const good = new Array<number>(n).fill(0);
  const all = [...columns, ...observed];
  const kinds = all.map(() => [0, 0, 0]);
  for (let mask = 0; mask < 2 ** n; mask += 1) {
    const isGood = Array.from({ length: n }, (_, bit) => ((mask >> bit) & 1) === 1);
    const of = isGood.filter(Boolean).length;
    const per = all.map((column) => ('outcomes' in column ? byKind(column, isGood) : byKindObserved(column, isGood)));
    let weight = beta(share, of, n - of);
    for (const [test, each] of per.entries()) weight *= sum(each) ** (all[test]?.weight ?? 1);
    weight *= Math.exp(sum([...leanings].map((leaning, index) => (isGood[index] === true ? leaning : 0))));
    total += weight;
    const nobody = isGood.map((side, index) => wrong[side ? 'ifGood' : 'ifNot'][index] as number);
    allWrong += weight * Math.exp(sum(nobody));
    add(
      good,
      isGood.map((side) => (side ? weight : 0)),
    );
    for (const [test, each] of per.entries()) {
      add(
        kinds[test] as number[],
        each.map((value) => (weight * value) / sum(each)),
      );
    }
  }
  const shares = (values: readonly number[]): number[] => values.map((value) => value / total);
  return { good: shares(good), kinds: kinds.map(shares), allWrong: allWrong / total };
}

const TELLING: TestColumn['rates'] = { right: [9, 1], wrong: [1, 2] };

function columnOf(text: string, weight = 1): TestColumn {
  return { outcomes: Array.from(text, (each) => (each === '?' ? null : each === '1')), weight, rates: TELLING };
}

/** @param text a letter for each patch's class, ? = it told nothing */
function observedOf(text: string, weight = 1): ObservedColumn {
  return { classes: Array.from(text, (own) => (own === '?' ? null : own.charCodeAt(0))), weight, rates: TELLING };
}

function modelOf(
  columns: readonly TestColumn[],
  leanings: readonly number[],
  observed: readonly ObservedColumn[] = [],
): PoolModel {
  const wrong = {
    ifGood: new Float64Array(leanings.length).fill(-1),
    ifNot: new Float64Array(leanings.length).fill(-0.1),
  };
  return { leanings: Float64Array.from(leanings), columns, observed, share: [0.3, 0.3], wrong, kinds: true };
}

const anyModel = fc
  .record({ n: fc.integer({ min: 1, max: 7 }), tests: fc.integer({ min: 0, max: 5 }) })
  .chain(({ n, tests }) => {
    const column = fc.record({
      text: fc.array(fc.constantFrom('0', '1', '?'), { minLength: n, maxLength: n }),
      weight: fc.constantFrom(1, 0.4),
    });
    const observed = fc.record({
      text: fc.array(fc.constantFrom('a', 'b', 'c', 'd', '?'), { minLength: n, maxLength: n }),
      weight: fc.constantFrom(1, 0.4),
    });
    return fc.record({
      columns: fc.array(column, { minLength: tests, maxLength: tests }),
      observed: fc.array(observed, { maxLength: 2 }),
      // Few values, so that some patches are equal in all.
      leanings: fc.array(fc.constantFrom(-2, 0, 0.7), { minLength: n, maxLength: n }),
    });
  })
  .map(({ columns, observed, leanings }) =>
    modelOf(
      columns.map(({ text, weight }) => columnOf(text.join(''), weight)),
      leanings,
      observed.map(({ text, weight }) => observedOf(text.join(''), weight)),
    ),
  );

describe('P(good) of each patch', () => {
  it('is what adding up over every assignment gives', () => {
    fc.assert(
      fc.property(anyModel, (model) => {
        const found = assignments(model);
        const wanted = bruteForce(model);
        expect(found.method).toBe('enumerated');
        expect(found.allWrong).toBeCloseTo(wanted.allWrong, 9);
        for (const [index, value] of wanted.good.entries()) expect(found.good[index]).toBeCloseTo(value, 9);
        for (const [test, row] of wanted.kinds.entries())
          for (const [kind, value] of row.entries()) expect(found.kinds[test]?.[kind]).toBeCloseTo(value, 9);
      }),
      { numRuns: 300 },
    );
  });

  it('by chains agrees with the exact one', () => {
    fc.assert(
      fc.property(anyModel, (model) => {
        const [exact, sampled] = [assignments(model), assignments(model, 0)];
        expect(sampled.method).toBe('sampled');
        expect(Math.abs(exact.allWrong - sampled.allWrong)).toBeLessThan(0.05);
        for (const [index, value] of exact.good.entries())
          expect(Math.abs(value - (sampled.good[index] ?? NaN))).toBeLessThan(0.05);
      }),
      { numRuns: 40, seed: 1 },
    );
  });

  it('does not stick where two camps of candidates stand against each other', () => {
    // Eight patches pass the first six tests and fail the others, eight the reverse: either camp may be the right one.
    const row = (test: number): string => `${test < 6 ? '11111111' : '00000000'}${test < 6 ? '00000000' : '11111111'}`;
    const camps = Array.from({ length: 12 }, (_, test) => columnOf(row(test)));
    const model = modelOf(
      camps,
      Array.from({ length: 16 }, (_, patch) => (patch < 8 ? 0.05 : 0)),
    );
    const [exact, sampled] = [assignments(model), assignments(model, 0)];
    for (const [index, value] of exact.good.entries())
      expect(Math.abs(value - (sampled.good[index] ?? NaN))).toBeLessThan(0.1);
    expect(sampled.spread).toBeLessThan(0.1);
  });

  it('counts sixteen different rows exactly', () => {
    const rows = Array.from({ length: 30 }, (_, test) =>
      Array.from({ length: 16 }, (__, patch) => Number(((patch * 7 + test * 13) * 2654435761) % 5 < 2)).join(''),
    );
    expect(
      assignments(
        modelOf(
          rows.map((row) => columnOf(row)),
          new Array<number>(16).fill(0),
        ),
      ).method,
    ).toBe('enumerated');
  });

  it('takes the many that do the same for right, where the others each do something else', () => {
    const { good } = assignments(
      modelOf([], new Array<number>(8).fill(0), [observedOf('aaaaabcd'), observedOf('aaaaaxyz')]),
    );
    expect(good[0]).toBeGreaterThan(2 * (good[7] ?? 1));
  });

  it('counts the patches of small classes alone where there are too many', () => {
    const letters = Array.from({ length: 32 }, (_, patch) => String.fromCharCode(97 + Math.floor(patch / 2))).join('');
    const { good } = assignments(modelOf([], new Array<number>(32).fill(0), [observedOf(letters)]));
    expect(good.every((p) => p > 0 && p < 1)).toBe(true);
  });

  it('takes the word of tests that agree over that of one which passes who they fail', () => {
    // Patches 0 to 2 solve three tests, 3 to 7 none of them; the last test passes the wrong ones alone.
    const good = ['11100000', '11100000', '11110000'].map((text) => columnOf(text));
    const { good: p, kinds } = assignments(modelOf([...good, columnOf('00011111')], new Array<number>(8).fill(0)));
    expect(p[0]).toBeGreaterThan(0.7);
    expect(p[7]).toBeLessThan(0.3);
    expect(kinds[0]?.[0]).toBeGreaterThan(0.8);
    expect(kinds[3]?.[2]).toBeGreaterThan(kinds[3]?.[0] ?? NaN);
  });
});

describe('sums over subsets', () => {
  it('give each patch its chance to be among k, and equal ones the same', () => {
    const sums = new SubsetSums([0.5, -1, 0.5]);
    const [a, b] = [Math.exp(0.5), Math.exp(-1)];
    expect([...sums.bySize].map(Math.exp)).toEqual(
      [1, 2 * a + b, a * a + 2 * a * b, a * a * b].map((value) => expect.closeTo(value, 12) as number),
    );
    const [first, second, third] = sums.marginals(Float64Array.of(0, 1, 0, 0));
    expect(first).toBeCloseTo(a / (2 * a + b), 12);
    expect(second).toBeCloseTo(b / (2 * a + b), 12);
    expect(third).toBe(first);
  });
});
