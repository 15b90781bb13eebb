import { type RunRequest, runRequest } from '../../../src/core/run/run-request.js';
import type { Rollout } from '../../../src/core/run/rollout.js';
import { allocate, type AllocateOptions, type Sampled } from '../../../src/runs/allocate.js';
import { standingOf } from '../../../verifiers/hybrid/look-ahead.js';
import { calcPatch, calculatorIssue } from '../../fixtures/calculator.js';
import { runResult } from '../../fixtures/runs.js';
import { entryOf } from '../verifiers/hybrid/entry-of.js';

/** Names of patches that each issue's agent makes, in turn. */
type Scripts = Readonly<Record<string, string>>;

function requestsOf(scripts: Scripts, more: object = {}): RunRequest[] {
  return Object.keys(scripts).map((instance_id) =>
    runRequest({ issue: { ...calculatorIssue, instance_id }, k: 6, ...more }),
  );
}

const NO_LIMIT = { rollouts: null, tokens: null, usd: null };

/** What is sampled, as `issue k`, and how many rollouts each issue gets. */
async function played(
  scripts: Scripts,
  { tokens = {}, ...options }: Partial<AllocateOptions> & { readonly tokens?: Readonly<Record<string, number>> } = {},
  more: object = {},
) {
  const sampled: string[] = [];
  const sample = (request: RunRequest): Promise<Sampled> => {
    const { issue, k } = request;
    const id = issue.instance_id;
    expect(request).toMatchObject({ verifiers: [], refine: 0, k0: null });
    sampled.push(`${id} ${k}`);
    const rollouts = Array.from((scripts[id] ?? '').slice(0, k), (name, index) => rolloutOf(id, index + 1, name));
    const usage = { ...runResult().usage, tokens: k * (tokens[id] ?? 100), cost_usd: null };
    const spent = { tokens: usage.tokens, usd: null };
    return Promise.resolve(scripts[id] === '' ? { spent } : { ...runResult(), rollouts, usage });
  };
  const all = { atOnce: 1, budget: NO_LIMIT, sample, stop: () => false, ...options };
  const granted = await allocate(requestsOf(scripts, more), all);
  const asked = granted.map(({ request }) => request);
  return { sampled, rollouts: asked.map(({ k }) => k), asked, paid: granted.map(({ paid }) => paid.tokens) };
}

function rolloutOf(instance_id: string, number: number, name: string): Rollout {
  return {
    ...{ instance_id, candidate_id: `rollout-${number}`, model: 'm', format: 'xml', exit_reason: 'agent' },
    ...{ patch: calcPatch(`def ${name}(a, b):`, '    return a'), patch_problem: null, left_out: [], steps: [] },
    ...{ malformed: 0, system_prompt: '', instance_prompt: '', told_of: [], branch_of: null, agent: null },
  };
}

describe('what another rollout is expected to gain', () => {
  const left = [{}, {}, {}, {}];
  const pool = (names: string) => Array.from(names, (name, index) => entryOf(`${name}${index}`, { fingerprint: name }));

  it('falls as patches agree, and is nothing once none can overtake', () => {
    const [open, leaning, sure] = ['ab', 'aab', 'aaaaa'].map((names) => standingOf(pool(names), left).gain);
    expect(open).toBeGreaterThan(leaning ?? 1);
    expect(leaning).toBeGreaterThan(sure ?? 1);
    expect(standingOf(pool('aaab'), [{}]).gain).toBe(0);
    expect(standingOf(pool('ab'), []).gain).toBe(0);
  });

  it('looks as far ahead as it takes to change the answer', () => {
    // One more vote for b is a tie at most, two are not.
    expect(standingOf(pool('aab'), [{}]).gain).toBe(0);
    expect(standingOf(pool('aab'), [{}, {}]).gain).toBeGreaterThan(0);
  });

  it('is what a first patch is worth where there is none', () => {
    const { right, gain } = standingOf([], left);
    expect({ right, isLikely: gain > 0.3 && gain < 0.6 }).toEqual({ right: null, isLikely: true });
  });
});

describe('allocating rollouts', () => {
  it('gives each issue its first, then those that are not settled', async () => {
    const { sampled, rollouts } = await played({ settled: 'aaaaaa', open: 'abcdef' });
    expect(sampled.slice(0, 2)).toEqual(['settled 1', 'open 1']);
    expect(rollouts[0]).toBeLessThan(rollouts[1] ?? 0);
  });

  it('goes by what rollouts of an issue cost', async () => {
    const scripts = { dear: 'abcdef', cheap: 'abcdef' };
    const { rollouts } = await played(scripts, {
      tokens: { dear: 1_000, cheap: 10 },
      budget: { ...NO_LIMIT, rollouts: 6 },
    });
    expect(rollouts).toEqual([1, 5]);
  });

  it('ends with the budget of tokens, and asks for what was sampled', async () => {
    const scripts = { one: 'abcdef', two: 'abcdef' };
    const { sampled, rollouts, asked } = await played(scripts, { budget: { ...NO_LIMIT, tokens: 450 } });
    expect(sampled).toHaveLength(5);
    expect(rollouts.reduce((sum, k) => sum + k, 0)).toBe(5);
    expect(asked[0]).toMatchObject({ verifiers: null, k0: null, issue: { instance_id: 'one' } });
  });

  it('counts what was paid for rollouts that failed', async () => {
    const scripts = { none: '', one: 'abcdef' };
    const { sampled, paid } = await played(scripts, {
      tokens: { none: 1_000 },
      budget: { ...NO_LIMIT, tokens: 1_100 },
    });
    expect([sampled, paid]).toEqual([
      ['none 1', 'one 1'],
      [1_000, 100],
    ]);
  });

  it('decides the same again from the same results, however often it is broken off', async () => {
    const scripts = { one: 'abacad', two: 'abbbbb', three: 'aabbab' };
    const whole = await played(scripts, { atOnce: 2 });
    for (let calls = 1; calls < whole.sampled.length; calls += 1) {
      let left = calls;
      await played(scripts, { atOnce: 2, stop: () => (left -= 1) < 0 });
      const again = await played(scripts, { atOnce: 2 });
      expect(again).toEqual(whole);
    }
  });

  it('takes small waves, no fewer than there are agents, and gives up what cannot be sampled', async () => {
    const { sampled } = await played({ one: 'abcdef', none: '' }, {}, { k0: 3 });
    expect(sampled).toEqual(['one 3', 'none 3', 'one 6']);
    const agents = [{ name: 'x' }, { name: 'y', temperature: 0.5 }];
    expect((await played({ one: 'abcdef' }, {}, { agents })).sampled[0]).toBe('one 2');
  });

  it('makes the first rollouts of each issue whatever the limit, and uses all of a limit above their sum', async () => {
    const scripts = { one: 'abcdef', two: 'abcdef', three: 'abcdef' };
    const agents = [{ name: 'x' }, { name: 'y', temperature: 0.5 }];
    const limited = async (rollouts: number): Promise<readonly number[]> => {
      const budget = { ...NO_LIMIT, rollouts };
      return (await played(scripts, { atOnce: 2, budget }, { agents })).rollouts;
    };
    expect(await limited(1)).toEqual([2, 2, 2]);
    expect(await limited(5)).toEqual([2, 2, 2]);
    expect((await limited(8)).reduce((sum, k) => sum + k, 0)).toBe(8);
  });
});
