import { BadInputError } from '../../../../src/core/errors/errors.js';
import type { Selection } from '../../../../src/core/run/selection.js';
import type { Entry } from '../../../../verifiers/hybrid/entry.js';
import { findPreset, parsePreset, PRESET_NAMES } from '../../../../verifiers/hybrid/presets.js';
import { selectBest } from '../../../../verifiers/hybrid/select.js';
import { entryOf } from './entry-of.js';

function choose(entries: Entry[], preset = 'deepswe'): Selection {
  return selectBest('repo__1', entries, findPreset(preset), new Map());
}

describe('the deepswe preset', () => {
  it('takes the best tests among the n most trusted, not the best tests of all', () => {
    const entries = [
      entryOf('a', { execution_free: 0.9, regression: 5, reproduction: 1 }),
      entryOf('b', { execution_free: 0.8, regression: 5, reproduction: 3 }),
      entryOf('c', { execution_free: 0.7, regression: 5, reproduction: 3 }),
      entryOf('d', { execution_free: 0.1, regression: 5, reproduction: 9 }),
    ];
    const selection = choose(entries);
    expect(selection).toMatchObject({ candidate_id: 'b', basis: 'hybrid', deciding_stage: 'max execution_free' });
    expect(selection.stages.find(({ name }) => name === 'top execution_free')).toMatchObject({
      kept: ['a', 'b', 'c'],
      dropped: ['d'],
      skipped: null,
    });
    expect(selection.ranking.map(({ candidate_id }) => candidate_id)).toEqual(['b', 'c', 'a', 'd']);
  });

  it('filters by regression before it counts generated tests', () => {
    const selection = choose([
      entryOf('a', { execution_free: 0.9, regression: 4, reproduction: 9 }),
      entryOf('b', { execution_free: 0.2, regression: 5, reproduction: 1 }),
    ]);
    expect(selection).toMatchObject({ candidate_id: 'b', deciding_stage: 'max regression' });
  });

  it('counts n from the whole pool, also when filters made it smaller', () => {
    const spoiled = ['x', 'y', 'z', 'w'].map((id) => entryOf(id, { has_source_change: false }));
    const good = [0.9, 0.8, 0.7, 0.6].map((p, i) => entryOf(`c${i}`, { execution_free: p, reproduction: i }));
    expect(choose([...spoiled, ...good]).candidate_id).toBe('c3');
  });

  it('breaks ties by agreement, then by the shorter patch, then by the lower id', () => {
    const scores = { execution_free: 0.5, regression: 1, reproduction: 1 };
    const agreed = choose([
      entryOf('a', { ...scores, fingerprint: 'p', patch_size: 1 }),
      entryOf('b', { ...scores, fingerprint: 'q', patch_size: 9 }),
      entryOf('c', { ...scores, fingerprint: 'q', patch_size: 9 }),
    ]);
    expect(agreed).toMatchObject({ candidate_id: 'b', deciding_stage: 'max cluster_size' });
    const short = choose([entryOf('a', { ...scores, patch_size: 2 }), entryOf('b', { ...scores, patch_size: 1 })]);
    expect(short).toMatchObject({ candidate_id: 'b', deciding_stage: 'min patch_size' });
    const tied = choose([entryOf('10', scores), entryOf('9', scores)]);
    expect(tied).toMatchObject({ candidate_id: '9', deciding_stage: 'lowest-id', basis: 'hybrid' });
  });

  it('sets aside a candidate that did not submit, unless none did', () => {
    const better = entryOf('a', { execution_free: 0.9, finished: false });
    const finished = entryOf('b', { execution_free: 0.1, finished: true });
    expect(choose([better, finished]).candidate_id).toBe('b');
    const alone = choose([better, entryOf('c', { execution_free: 0.2, finished: false })]);
    expect(alone.candidate_id).toBe('a');
    expect(alone.stages.find(({ name }) => name === 'finished')?.skipped).toContain('all 2 are kept');
  });

  it('ranks an abstention after every known value, zero included', () => {
    const selection = choose([entryOf('a'), entryOf('b', { execution_free: 0 })]);
    expect(selection).toMatchObject({ candidate_id: 'b', deciding_stage: 'max execution_free' });
  });
});

describe('what is left to decide', () => {
  it('returns the only candidate with its scores', () => {
    const selection = choose([entryOf('only', { execution_free: 0.4 })]);
    expect(selection).toMatchObject({ candidate_id: 'only', basis: 'hybrid', deciding_stage: null });
    expect(selection.ranking).toMatchObject([{ rank: 1, scores: { execution_free: 0.4, cluster_size: null } }]);
  });

  it('says that only tie-breaks decided when every verifier abstained', () => {
    const selection = choose([entryOf('a', { patch_size: 9 }), entryOf('b', { patch_size: 3 })]);
    expect(selection).toMatchObject({ candidate_id: 'b', basis: 'fallback', deciding_stage: 'min patch_size' });
    expect(selection.stages.find(({ name }) => name === 'max regression')?.skipped).toContain('unknown for every');
  });

  it('names the stage after which only one patch was left, though several candidates wrote it', () => {
    const selection = choose([
      entryOf('a', { execution_free: 0.9, regression: 2, fingerprint: 'same' }),
      entryOf('b', { execution_free: 0.8, regression: 2, fingerprint: 'same' }),
      entryOf('c', { execution_free: 0.9, regression: 1, fingerprint: 'other' }),
    ]);
    expect(selection).toMatchObject({ candidate_id: 'a', deciding_stage: 'max regression' });
  });

  it.each([
    ['nothing was offered', []],
    ['all patches are empty', [entryOf('a', { has_source_change: false })]],
    ['no patch applies', [entryOf('a', { applies: false, execution_free: 0.9 })]],
  ])('returns no patch when %s', (_, entries) => {
    const selection = choose(entries);
    expect(selection).toMatchObject({ candidate_id: null, basis: 'none', deciding_stage: null, confidence: null });
    expect(selection.ranking).toHaveLength(entries.length);
  });

  it('refuses two candidates with one id', () => {
    expect(() => choose([entryOf('a'), entryOf('a')])).toThrow(/two candidates "a"/);
  });
});

describe('other presets', () => {
  it('entropo-verified vetoes by EF and takes the longest history; entropo-lite the shortest', () => {
    const entries = [
      entryOf('vetoed', { execution_free: 0.01, steps: 50 }),
      entryOf('long', { execution_free: 0.02, steps: 40 }),
      entryOf('short', { execution_free: 0.9, steps: 10 }),
    ];
    expect(choose(entries, 'entropo-verified').candidate_id).toBe('long');
    expect(choose(entries, 'entropo-lite').candidate_id).toBe('short');
  });

  it('kimi adds rates, kozuchi weighs them and takes the shorter of a near tie', () => {
    const totals = { regression_out_of: 100, reproduction_out_of: 10 };
    const entries = [
      entryOf('regressed', { ...totals, regression: 80, reproduction: 10, patch_size: 1 }),
      entryOf('safe', { ...totals, regression: 100, reproduction: 7, patch_size: 9 }),
    ];
    expect(choose(entries, 'kimi').candidate_id).toBe('regressed');
    expect(choose(entries, 'kozuchi').candidate_id).toBe('safe');
    const near = entryOf('near', {
      regression_out_of: 1000,
      regression: 999,
      reproduction_out_of: 10,
      reproduction: 7,
    });
    expect(choose([...entries, { ...near, patch_size: 2 }], 'kozuchi')).toMatchObject({
      candidate_id: 'near',
      deciding_stage: 'min patch_size',
    });
  });

  it('codet prefers a large group that agrees on what it solves', () => {
    const group = ['a', 'b', 'c', 'd'].map((id) => entryOf(id, { reproduction: 5, behaviour: 'g' }));
    expect(choose([...group, entryOf('lone', { reproduction: 9, behaviour: 'h' })], 'codet').candidate_id).toBe('a');
  });

  it('learned gives its probability as the confidence', () => {
    const entries = [entryOf('a', { learned: 0.2 }), entryOf('b', { learned: 0.7 })];
    expect(choose(entries, 'learned')).toMatchObject({ candidate_id: 'b', confidence: 0.7, basis: 'hybrid' });
  });

  it('lists the known presets for an unknown one', () => {
    expect(() => findPreset('best')).toThrow(BadInputError);
    try {
      findPreset('best');
    } catch (error) {
      expect(error).toHaveProperty('next', `Known presets: ${PRESET_NAMES.join(', ')}.`);
    }
    expect(() => findPreset('toString')).toThrow(/unknown preset/);
  });

  it('runs a preset a user wrote, and abstains below its threshold', () => {
    const preset = parsePreset({
      name: 'mine',
      stages: [
        { stage: 'above', by: 'learned', than: 0.5, otherwise: 'none' },
        { stage: 'max', by: 'learned' },
      ],
    });
    const run = (p: number): Selection => selectBest('i', [entryOf('a', { learned: p })], preset, new Map());
    expect(run(0.6)).toMatchObject({ candidate_id: 'a', confidence: 0.6 });
    expect(run(0.4)).toMatchObject({ candidate_id: null, basis: 'none' });
  });

  it('names the field of a preset that is not one', () => {
    const read = (stage: unknown): unknown => parsePreset({ name: 'x', stages: [stage] }, 'mine.yaml');
    expect(() => read({ stage: 'max', by: 'label' })).toThrow(/mine\.yaml, field "stages\.0\.by"/);
    expect(() => read({ stage: 'max', by: 'regression', extra: 1 })).toThrow(/stages\.0/);
    expect(() => read({ stage: 'top', by: 'execution_free', n: 0 })).toThrow(/stages\.0\.n/);
  });
});
