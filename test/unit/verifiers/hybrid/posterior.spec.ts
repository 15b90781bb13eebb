import fc from 'fast-check';
import { grouped } from '../../../../src/core/grouped.js';
import { below, seededRandom } from '../../../../src/core/random.js';
import type { Entry } from '../../../../verifiers/hybrid/entry.js';
import { Pool } from '../../../../verifiers/hybrid/pool.js';
import { findPreset } from '../../../../verifiers/hybrid/presets.js';
import { decide, ruleOf, selectBest } from '../../../../verifiers/hybrid/select.js';
import { entryOf } from './entry-of.js';

const TESTS = Array.from({ length: 10 }, (_, index) => `t${index}`);

function solving(id: string, solved: readonly string[], known: Partial<Entry> = {}): Entry {
  const outcomes = { solved: [...solved], behaviour: solved.join(), reproduction: solved.length };
  return entryOf(id, { ...outcomes, reproduction_out_of: TESTS.length, fingerprint: id, ...known });
}

function rightOf(entries: readonly Entry[], authors?: ReadonlyMap<string, string>): (id: string) => number {
  const { right } = new Pool({ instanceId: 'i', entries, authors }).beliefs();
  return (id) => right.get(id) ?? NaN;
}

describe('P(right) without labels', () => {
  it('of an only candidate that passes ten of ten tests is no near certainty', () => {
    expect(rightOf([solving('only', TESTS)])('only')).toBeLessThan(0.9);
  });

  it('of patches that nothing but tests speaks for stays below .9, however many they pass', () => {
    const right = rightOf([solving('a', TESTS), solving('b', TESTS), solving('c', []), solving('d', ['t0'])]);
    expect(right('a')).toBeGreaterThan(0.6);
    expect(right('a')).toBeLessThanOrEqual(0.9);
  });

  it('rests on ten tests of one author less than on those of ten', () => {
    const entries = [solving('a', TESTS), solving('b', []), solving('c', TESTS.slice(0, 5))];
    const many = new Map(TESTS.map((test) => [test, `author of ${test}`]));
    expect(rightOf(entries)('b')).toBeGreaterThan(rightOf(entries, many)('b'));
  });

  it('rises less by tests that hold on base and on the patch, and falls where it loses them', () => {
    const entries = [
      solving('a', TESTS),
      solving('b', TESTS),
      solving('c', TESTS.slice(0, 2), { failed: TESTS.slice(2) }),
    ];
    const holding = new Map(TESTS.map((test) => [test, 'pass-to-pass']));
    const [held, solved] = [rightOf(entries, holding), rightOf(entries)];
    expect(held('a')).toBeLessThan(solved('a'));
    expect(held('a')).toBeGreaterThan(held('c'));
  });

  it('of patches that do on all inputs what base does is lower than where they do something else, though more do it', () => {
    const inputs = ['example', 'stays', 'stays too'];
    const doing = (id: string, ...groups: readonly number[]): Entry => {
      const told = inputs.map((name, at) => [name, { group: groups[at] ?? 0, ...(at > 0 ? { expected: true } : {}) }]);
      return entryOf(id, { fingerprint: id, observed: Object.fromEntries(told) as Entry['observed'] });
    };
    const right = rightOf([doing('a', 1), doing('b', 1), doing('c'), doing('d'), doing('e')]);
    expect(right('a')).toBeGreaterThan(right('c') + 0.1);
  });

  describe('of a patch that shows no value', () => {
    const inputs = Array.from({ length: 8 }, (_, at) => `input ${at}`);
    type Shown = NonNullable<Entry['observed']>[string];
    const [asBase, raises, nothing]: readonly Shown[] = [
      { group: 0 },
      { group: 1, no_value: 'raises' },
      { group: 1, no_value: 'nothing' },
    ] as const;
    const showing = (id: string, shown: (at: number) => Shown | undefined): Entry =>
      entryOf(id, {
        fingerprint: id,
        observed: Object.fromEntries(inputs.map((name, at) => [name, shown(at) as Shown])),
      });
    const base = ['a', 'b', 'c'].map((id) => showing(id, () => asBase));

    it.each([
      ['raises on all inputs', () => raises],
      ['raises on some inputs and shows nothing on others', (at: number) => (at % 2 === 0 ? raises : nothing)],
      [
        'shows nothing on one input and does what base does on the others',
        (at: number) => (at === 0 ? nothing : asBase),
      ],
    ])('is no higher than of what does as base does, if it %s', (_, shown) => {
      const right = rightOf([...base, showing('broken', shown)]);
      expect(right('broken')).toBeLessThanOrEqual(right('a'));
      const alone = rightOf([...base.slice(0, 1), showing('broken', shown)]);
      expect(alone('broken')).toBe(alone('a'));
    });

    it('is higher if it raises on some inputs alone: an issue may ask for an error', () => {
      const right = rightOf([...base, showing('strict', (at) => (at < 4 ? raises : asBase))]);
      expect(right('strict')).toBeGreaterThan(right('a'));
    });
  });

  it('is lower where judge and tests point at different patches, and says so', () => {
    const agreed = [solving('a', TESTS, { execution_free: 0.95 }), solving('b', ['t0'], { execution_free: 0.1 })];
    const split = [solving('a', TESTS, { execution_free: 0.1 }), solving('b', ['t0'], { execution_free: 0.95 })];
    const [one, other] = [agreed, split].map((entries) =>
      selectBest({ instanceId: 'i', entries }, ruleOf(findPreset('bayes'))),
    );
    expect(one?.confidence).toBeGreaterThan(0.8);
    expect(other?.confidence).toBeLessThan(0.7);
    expect([one?.notes, other?.notes]).toEqual([[], ['judge and tests prefer different patches']]);
  });

  it('does not rise because an agent that was told of a patch made it again', () => {
    const first = [
      ...['a', 'b'].map((id) => entryOf(id, { fingerprint: 'same' })),
      ...['c', 'd', 'e'].map((id) => entryOf(id, { fingerprint: id })),
    ];
    const again = ['f', 'g'].map((id) => entryOf(id, { fingerprint: 'same' }));
    const told = again.map((entry) => ({ ...entry, told: true }));
    const before = rightOf(first)('a');
    expect(rightOf([...first, ...told])('a')).toBe(before);
    expect(rightOf([...first, ...again])('a')).toBeGreaterThan(before);
    const pool = new Pool({
      instanceId: 'i',
      entries: [...first, ...told, entryOf('h', { fingerprint: 'h', told: true })],
    });
    expect(pool.entries.map((entry) => pool.count(entry, 'change'))).toEqual([2, 2, 1, 1, 1, 2, 2, 1]);
  });

  it('rises more by an equal patch of another agent than by one more of the same', () => {
    const made = (...agents: readonly string[]): number =>
      rightOf([
        ...agents.map((agent, index) => entryOf(`same ${index}`, { fingerprint: 'same', agent })),
        ...['x', 'y', 'z'].map((id) => entryOf(id, { fingerprint: id, agent: id === 'x' ? 'a' : 'b' })),
      ])('same 0');
    expect(made('a', 'b')).toBeGreaterThan(made('a', 'a'));
    expect(made('a', 'a', 'b')).toBeGreaterThan(made('a', 'a', 'a'));
    expect(made('a', 'a', 'b')).toBe(made('b', 'a', 'a'));
  });

  it('of all being of one agent is that of nobody saying whose they are', () => {
    const entries = ['same', 'same', 'other'].map((fingerprint, index) => entryOf(String(index), { fingerprint }));
    const named = entries.map((entry) => ({ ...entry, agent: 'a' }));
    expect(['0', '2'].map(rightOf(named))).toEqual(['0', '2'].map(rightOf(entries)));
  });

  it('that some of the pool are right is no larger for a part of it, and adds up as it should', () => {
    const entries = ['a', 'b', 'c'].map((id) => solving(id, id === 'a' ? TESTS : [], { agent: id }));
    const pool = new Pool({ instanceId: 'i', entries });
    const { any, right } = pool.beliefs();
    expect(pool.anyOf(new Set(['a']))).toBeCloseTo(right.get('a') ?? NaN, 6);
    expect(pool.anyOf(new Set(['b', 'c']))).toBeLessThan(any);
    expect(pool.anyOf(new Set(['a', 'b', 'c']))).toBeCloseTo(any, 9);
  });

  it('that some are right is a number, however many agents make the same patch', () => {
    const pool = (agents: number, each: number): Pool =>
      new Pool({
        instanceId: 'i',
        entries: Array.from({ length: agents * each }, (_, index) =>
          entryOf(`${index}`, { fingerprint: 'same', agent: `agent ${index % agents}` }),
        ),
      });
    for (const [agents, each] of [
      [4, 16],
      [8, 8],
      [60, 60],
    ] as const) {
      const { any, right } = pool(agents, each).beliefs();
      expect(any).toBeCloseTo(right.get('0') ?? NaN, 8);
    }
  });

  it('that some are right is no less than of each, and of one patch alone what is said of that', () => {
    const anyEntry = fc.record({
      fingerprint: fc.constantFrom('p', 'q', 'r'),
      agent: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      execution_free: fc.constantFrom(null, 0.01, 0.6, 0.99),
      finished: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(anyEntry, { minLength: 1, maxLength: 40 }), (facts) => {
        const entries = facts.map((known, index) => entryOf(`${index}`, known));
        const pool = new Pool({ instanceId: 'i', entries });
        const { any, right } = pool.beliefs();
        expect(any).toBeLessThanOrEqual(1);
        expect(any).toBeGreaterThanOrEqual(Math.max(...right.values()) - 1e-8);
        for (const [patch, [first]] of grouped(pool.entries, ({ fingerprint }) => fingerprint)) {
          const copies = pool.entries.filter(({ fingerprint }) => fingerprint === patch);
          expect(pool.anyOf(new Set(copies.map(({ id }) => id)))).toBeCloseTo(right.get(first?.id ?? '') ?? NaN, 8);
        }
      }),
    );
  });

  it('that some are right is what adding up over all that may be good and right gives', () => {
    const shares = fc.array(fc.constantFrom(0.02, 0.3, 0.5, 0.9, 0.98), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(shares, (judged) => {
        const entries = judged.map((execution_free, index) => entryOf(`${index}`, { execution_free }));
        const { any } = new Pool({ instanceId: 'i', entries }).beliefs();
        expect(any).toBeCloseTo(someRight(judged), 8);
      }),
    );
  });

  it('of a patch under which every sandbox was lost is no higher than of those that were tested', () => {
    const kept = { regression: 2, regression_out_of: 2, reproduction_out_of: 4 };
    const tested = [solving('a', ['t0'], { ...kept, failed: ['t1', 't2', 't3'] }), solving('b', ['t1'], kept)];
    const right = rightOf([...tested, entryOf('lost', { fingerprint: 'lost', lost: ['regression', 'reproduction'] })]);
    expect(right('lost')).toBeLessThanOrEqual(Math.min(right('a'), right('b')));
    const broken = solving('c', ['t0'], { ...kept, regression: 0 });
    const lost = solving('lost', ['t0'], { lost: ['regression'] });
    const unknown = solving('unknown', ['t0']);
    const others = rightOf([...tested, broken, lost, unknown]);
    expect(others('lost')).toBe(others('c'));
    expect(others('unknown')).toBeGreaterThan(others('c'));
  });

  it('of a patch that is too long for a judge is that of the patch that it rates lowest', () => {
    const rated = (id: string, p: number | null, known: Partial<Entry> = {}): Entry =>
      entryOf(id, { fingerprint: id, execution_free: p, ...known });
    const right = rightOf([rated('a', 0.9), rated('b', 0.2), rated('long', null, { lost: ['execution_free'] })]);
    expect(right('long')).toBe(right('b'));
    expect(rightOf([rated('a', 0.9), rated('b', 0.2), rated('x', null)])('x')).toBeGreaterThan(right('b'));
    const ofCopies = (...lost: readonly string[][]): number =>
      rightOf([
        ...[rated('a', 0.9), rated('b', 0.2)],
        ...lost.map((each, n) => rated(`${n}`, null, { fingerprint: 'x', lost: each })),
      ])('0');
    expect(ofCopies([], ['execution_free'])).toBe(ofCopies(['execution_free'], ['execution_free']));
  });

  it('is low for everybody where all fail', () => {
    const entries = ['a', 'b', 'c', 'd'].map((id) => solving(id, [], { execution_free: 0.05 }));
    expect(rightOf(entries)('a')).toBeLessThan(0.1);
  });

  it('picks no worse than counting where no test is toxic, as with tests of real issues', () => {
    const random = seededRandom(3);
    let [latent, counted] = [0, 0];
    for (let pool = 0; pool < 100; pool += 1) {
      const { entries, isRight } = simulated(random);
      const chosen = decide({ instanceId: 'i', entries }, ruleOf(findPreset('latent'))).candidate_id;
      const most = Math.max(...entries.map(({ reproduction }) => reproduction ?? 0));
      const best = entries.filter(({ reproduction }) => reproduction === most);
      latent += Number(isRight(chosen ?? ''));
      counted += best.filter(({ id }) => isRight(id)).length / best.length;
    }
    expect(latent).toBeGreaterThanOrEqual(counted);
  });
});

/** P(some are right) with a judge alone, half of whose log-odds counts, by adding up over who is good and who is right. */
function someRight(judged: readonly number[]): number {
  const n = judged.length;
  let [all, none] = [0, 0];
  for (let good = 0; good < 2 ** n; good += 1) {
    for (let right = 0; right < 2 ** n; right += 1) {
      const has = (mask: number, bit: number): boolean => ((mask >> bit) & 1) === 1;
      const count = judged.filter((_, bit) => has(good, bit)).length;
      let weight = 1;
      for (let k = 0; k < count; k += 1) weight *= 0.3 + k;
      for (let k = 0; k < n - count; k += 1) weight *= 0.3 + k;
      for (const [bit, p] of judged.entries()) {
        const chance = has(good, bit) ? 0.9 : 0.02;
        weight *= has(right, bit) ? chance * Math.sqrt(p / (1 - p)) : 1 - chance;
      }
      all += weight;
      if (right === 0) none += weight;
    }
  }
  return 1 - none / all;
}

/** Eight candidates, wrong ones wrong in one of four ways, and ten tests of which a fifth tell; 2 % of the outcomes are noise. */
function simulated(random: () => number): { entries: readonly Entry[]; isRight: (id: string) => boolean } {
  const tests = TESTS.map(() => {
    const tells = random() < 0.2;
    const passes = Array.from({ length: 4 }, () => random() < 0.4);
    const all = random() < 0.5;
    return (way: number | null): boolean => (tells ? way === null || passes[way] === true : all);
  });
  const share = 0.2 + 0.4 * random();
  const ways = Array.from({ length: 8 }, () => (random() < share ? null : below(4, random)));
  const entries = ways.map((way, index) => {
    const passed = TESTS.filter((_, test) => tests[test]?.(way) !== random() < 0.02);
    return solving(`c${index}`, passed);
  });
  return { entries, isRight: (id) => ways[Number(id.slice(1))] === null };
}

describe('votes', () => {
  it.each(['latent', 'bayes'])('%s: two patches of one syntax outvote a shorter one', (name) => {
    const one = { solved: ['t'], reproduction: 1, reproduction_out_of: 1, behaviour: 't' };
    const entries = [
      entryOf('a', { ...one, fingerprint: 'p', syntax: 'short', patch_size: 1 }),
      entryOf('b', { ...one, fingerprint: 'q', syntax: 'common', patch_size: 9 }),
      entryOf('c', { ...one, fingerprint: 'r', syntax: 'common', patch_size: 9 }),
    ];
    expect(decide({ instanceId: 'i', entries }, ruleOf(findPreset(name))).candidate_id).toBe('b');
    const unknown = entries.map((entry) => ({ ...entry, syntax: null }));
    expect(decide({ instanceId: 'i', entries: unknown }, ruleOf(findPreset(name))).candidate_id).toBe('a');
  });
});
