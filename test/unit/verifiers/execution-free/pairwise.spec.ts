import fc from 'fast-check';
import { createPairwiseVerifier } from '../../../../verifiers/execution-free/pairs/pairwise.js';
import { pivotTournament } from '../../../../verifiers/execution-free/pairs/pairwise.js';
import { ModelUnavailableError } from '../../../../src/core/errors/unavailable.js';
import { FakeLlmClient } from '../../../fakes/fake-llm-client.js';
import { candidate, judged, plain, shown, tagged } from './judge-world.js';

const ids = (n: number): string[] => Array.from({ length: n }, (_, index) => `c${index + 1}`);
const numberOf = (id: string | undefined): number => Number(id?.slice(1));

/** Prefers the higher number, with a liking for whoever stands first. */
function judge(bias = 0): FakeLlmClient {
  return new FakeLlmClient((request) => {
    const [a, b] = shown(request);
    const p = 1 / (1 + Math.exp(numberOf(b) - numberOf(a) - bias));
    return tagged('better', { A: p, B: 1 - p });
  });
}

it('ranks by who is better, whatever the order and the liking for the first place', async () => {
  for (const order of [ids(6), ids(6).reverse()]) {
    const verdicts = await judged(
      createPairwiseVerifier,
      judge(3),
      order.map((id) => candidate(id)),
    );
    const scores = ids(6).map((id) => (verdicts[id]?.kind === 'scored' ? verdicts[id].score : NaN));
    expect(scores).toEqual(scores.toSorted((a, b) => a - b));
    expect(scores.every((score) => score >= 0 && score <= 1)).toBe(true);
    expect(verdicts.c6?.evidence).toMatchObject({ method: 'pairwise-tournament', rank: 1 });
  }
});

it('shows each pair in both orders, and makes O(N k) comparisons', async () => {
  const llm = judge();
  await judged(
    createPairwiseVerifier,
    llm,
    ids(12).map((id) => candidate(id)),
  );
  const pairs = llm.requests.map((request) => shown(request).join(' '));
  expect(new Set(pairs).size).toBe(pairs.length);
  expect(pairs.every((pair) => pairs.includes(pair.split(' ').reverse().join(' ')))).toBe(true);
  expect(pairs.length / 2).toBeLessThanOrEqual(12 + 2 * 10 + 1 + 12);
});

it('has no ties, even where the judge sees no difference', async () => {
  const llm = new FakeLlmClient(() => tagged('better', { A: 0.5, B: 0.5 }));
  const verdicts = await judged(
    createPairwiseVerifier,
    llm,
    ids(5).map((id) => candidate(id)),
  );
  const scores = Object.values(verdicts).map((verdict) => (verdict.kind === 'scored' ? verdict.score : NaN));
  expect(new Set(scores).size).toBe(5);
  for (const score of scores) expect(score).toBeCloseTo(0.5, 5);
});

it('abstains for one candidate alone, an empty patch, and a judge that cannot be read', async () => {
  expect((await judged(createPairwiseVerifier, judge(), [candidate('c1')])).c1).toMatchObject({ kind: 'abstained' });
  const two = [candidate('c1'), candidate('c2')];
  const empty = await judged(createPairwiseVerifier, judge(), [...two, candidate('c3', { patch: '' })]);
  expect(empty.c3).toMatchObject({ kind: 'abstained', reason: 'no-source-change' });
  expect(empty.c2).toMatchObject({ kind: 'scored' });
  const mute = await judged(createPairwiseVerifier, new FakeLlmClient(() => tagged('better', { C: 1 })), two);
  expect(mute.c1).toMatchObject({ kind: 'abstained', reason: 'unreadable-answer' });
  const down = await judged(createPairwiseVerifier, new FakeLlmClient(() => new ModelUnavailableError('down')), two);
  expect(down.c1).toMatchObject({ kind: 'abstained', reason: 'model-unavailable' });
});

it('takes what was said where there are no log-probabilities', async () => {
  const llm = new FakeLlmClient((request) =>
    plain(`<better>${numberOf(shown(request)[0]) === 2 ? 'A' : 'B'}</better>`),
  );
  const verdicts = await judged(createPairwiseVerifier, llm, [candidate('c1'), candidate('c2')]);
  expect(verdicts).toMatchObject({
    c1: { score: expect.closeTo(0, 5) as number },
    c2: { score: expect.closeTo(1, 5) as number },
  });
});

describe('the pivot tournament', () => {
  it('compares no pair twice, as often as it says at most, and finds the best of a sound judge', async () => {
    const strengths = fc.uniqueArray(fc.integer({ min: 0, max: 10_000 }), { minLength: 2, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(strengths, fc.integer({ min: 1, max: 4 }), async (values, pivots) => {
        const names = values.map(String);
        const pairs: string[] = [];
        const standings = await pivotTournament(names, pivots, async (a, b) => {
          pairs.push([a, b].sort().join(' '));
          return Number(Number(a) > Number(b));
        });
        const [n, k] = [names.length, Math.min(pivots, names.length)];
        expect(new Set(pairs).size).toBe(pairs.length);
        expect(pairs.length).toBeLessThanOrEqual(n + k * (n - k) + (k * (k - 1)) / 2 + n);
        expect(standings).toHaveLength(n);
        expect(standings[0]?.id).toBe(String(Math.max(...values)));
      }),
    );
  });

  it('leaves out comparisons that could not be told', async () => {
    const standings = await pivotTournament(['a', 'b', 'c'], 1, async (x, y) =>
      [x, y].includes('c') ? null : Number(x === 'a'),
    );
    expect(standings.map(({ id, share, comparisons }) => [id, share, comparisons])).toEqual([
      ['a', 1, 1],
      ['b', 0, 1],
      ['c', null, 0],
    ]);
  });
});
