import { RunIdSource } from '../../../../src/core/identifier.js';
import { RunRequest } from '../../../../src/core/run/run-request.js';
import { givenRequest } from '../../../fixtures/runs.js';

describe('RunRequest', () => {
  it('fills in what may be left out, and reads its own answer back unchanged', () => {
    const read = RunRequest.parse({ ...givenRequest(), tests: [{ test_id: 't', path: 't.py', content: 'x' }] });
    expect(read).toMatchObject({
      k: 2,
      budget: null,
      k0: null,
      seed: 0,
      preset: 'deepswe',
      tests: [{ instance_id: 'demo-1', author: null }],
    });
    expect(read.candidates?.map(({ instance_id }) => instance_id)).toEqual(['demo-1', 'demo-1']);
    expect(read.candidates?.[0]?.trajectory).toBeNull();
    expect(RunRequest.parse(JSON.parse(JSON.stringify(read)))).toEqual(read);
  });

  it('drops labels that came with a candidate', () => {
    const { candidates, ...rest } = givenRequest();
    const leaking = (candidates ?? []).map((candidate) => ({ ...candidate, resolved: true, gold_patch: 'x' }));
    expect(JSON.stringify(RunRequest.parse({ ...rest, candidates: leaking }))).not.toMatch(/resolved|gold/);
  });

  it.each([
    ['no candidate', { candidates: [] }, 'candidates'],
    ['an unknown verifier', { verifiers: ['ef', 'xx'] }, 'verifiers.1'],
    [
      'a test of another issue',
      { tests: [{ instance_id: 'o', test_id: 't', path: 'p', content: '' }] },
      'tests.0.instance_id',
    ],
    ['another number of candidates', { k: 3 }, 'k'],
    ['a first wave of given candidates', { k0: 1 }, 'k0'],
    ['a first wave larger than K', { candidates: undefined, k: 2, k0: 3 }, 'k0'],
    ['more samples than a run makes', { candidates: undefined, k: 300 }, 'k'],
    ['a budget of nothing', { budget: { tokens: 0 } }, 'budget.tokens'],
    ['an unknown limit', { budget: { euros: 1 } }, 'budget'],
    ['half a candidate', { k: 1.5 }, 'k'],
  ])('refuses %s', (_what, change, path) => {
    const problems = RunRequest.safeParse({ ...givenRequest(), ...change }).error?.issues;
    expect(problems?.map((problem) => problem.path.join('.'))).toEqual([path]);
  });
});

describe('RunIdSource', () => {
  it('makes ids that ascend, though the clock stands still or steps back', () => {
    const source = new RunIdSource();
    const now = Date.UTC(2026, 0, 1);
    const ids = [now, now, now - 5_000, now + 1, now + 10 * 365 * 86_400_000].map((at) => source.next(at));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  });
});
