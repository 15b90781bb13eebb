import fc from 'fast-check';
import { findPreset, PRESET_NAMES } from '../../../../verifiers/hybrid/presets.js';
import { ruleOf, selectBest } from '../../../../verifiers/hybrid/select.js';
import { times } from '../../../fixtures/property-runs.js';
import { anyPool } from './entry-of.js';

const anyPreset = fc.constantFrom(...PRESET_NAMES).map((name) => findPreset(name));

describe('every preset, on any pool', () => {
  it('gives the same selection in whatever order the candidates come', () => {
    fc.assert(
      fc.property(
        anyPool().chain((pool) => fc.tuple(fc.constant(pool), fc.shuffledSubarray(pool, { minLength: pool.length }))),
        anyPreset,
        ([pool, shuffled], preset) => {
          expect(selectBest({ instanceId: 'i', entries: shuffled }, ruleOf(preset))).toEqual(
            selectBest({ instanceId: 'i', entries: pool }, ruleOf(preset)),
          );
        },
      ),
      { numRuns: times(200) },
    );
  });

  it('ranks every candidate exactly once, the winner first', () => {
    fc.assert(
      fc.property(anyPool(), anyPreset, (pool, preset) => {
        const { candidate_id, ranking } = selectBest({ instanceId: 'i', entries: pool }, ruleOf(preset));
        expect(ranking.map(({ rank }) => rank)).toEqual(pool.map((_, index) => index + 1));
        expect(new Set(ranking.map((each) => each.candidate_id))).toEqual(new Set(pool.map(({ id }) => id)));
        if (candidate_id !== null) expect(ranking[0]?.candidate_id).toBe(candidate_id);
      }),
      { numRuns: times(200) },
    );
  });

  it('returns a patch exactly when some candidate changes source and applies', () => {
    fc.assert(
      fc.property(anyPool(), anyPreset, (pool, preset) => {
        const eligible = pool.filter(({ has_source_change, applies }) => has_source_change && applies !== false);
        const { candidate_id, basis } = selectBest({ instanceId: 'i', entries: pool }, ruleOf(preset));
        expect(candidate_id === null).toBe(eligible.length === 0);
        expect(basis === 'none').toBe(eligible.length === 0);
        if (candidate_id !== null) expect(eligible.map(({ id }) => id)).toContain(candidate_id);
      }),
    );
  });

  it('accounts for every candidate at every stage: kept and dropped are what the stage before kept', () => {
    fc.assert(
      fc.property(anyPool(), anyPreset, (pool, preset) => {
        let before = pool.map(({ id }) => id);
        for (const { kept, dropped, skipped } of selectBest({ instanceId: 'i', entries: pool }, ruleOf(preset))
          .stages) {
          expect([...kept, ...dropped].sort()).toEqual(before.sort());
          expect(skipped === null).toBe(dropped.length > 0);
          before = [...kept];
        }
      }),
    );
  });
});
