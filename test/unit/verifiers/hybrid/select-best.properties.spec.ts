import fc from 'fast-check';
import { type Entry, isEligible, withEqualPatches } from '../../../../verifiers/hybrid/entry.js';
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

/** The rules that look at nothing but the candidates: `random` draws by their ids. */
const RULES = PRESET_NAMES.filter((name) => name !== 'random');

/**
 * Pools in which each patch has a fingerprint, tests have names and a number, and copies of a patch apply alike and have the
 * same verdicts, so that one more copy changes no mean.
 */
const anyNamedPool = anyPool(7).map((pool) => {
  const patchOf = ({ id, fingerprint }: Entry): string => fingerprint ?? `of ${id}`;
  return withEqualPatches(
    pool.map((entry) => {
      const { has_source_change, applies } = pool.find((other) => patchOf(other) === patchOf(entry)) ?? entry;
      const patch = { fingerprint: patchOf(entry), has_source_change, applies, regression_out_of: 2 };
      return { ...entry, ...patch, ...solving(entry.solved ?? null, 3) };
    }),
  );
});

function solving(solved: string[] | null, of: number): Partial<Entry> {
  const [reproduction, behaviour] = [solved?.length ?? null, solved?.join() ?? null];
  return { solved, reproduction, behaviour, reproduction_out_of: of };
}

function pickOf(entries: readonly Entry[], name: string): string | null {
  return selectBest({ instanceId: 'i', entries }, ruleOf(findPreset(name))).candidate_id;
}

function patchPicked(entries: readonly Entry[], name: string): string | null | undefined {
  const picked = pickOf(entries, name);
  return entries.find(({ id }) => id === picked)?.fingerprint;
}

// PROPERTY_RUNS=400 is 10,000 pools for each preset: npm run test:rules.
describe.each(RULES)('%s, on any pool', (name) => {
  const forAny = <T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void): void => {
    fc.assert(fc.property(arbitrary, check), { numRuns: times(25) });
  };
  const limit = 60_000 * times(1);

  it(
    'picks the same whatever the candidates are called',
    () => {
      forAny(anyNamedPool, (pool) => {
        const renamed = pool.map((entry) => ({ ...entry, id: `z${entry.id}` }));
        const picked = pickOf(pool, name);
        expect(pickOf(renamed, name)).toBe(picked === null ? null : `z${picked}`);
      });
    },
    limit,
  );

  it(
    'keeps its patch when there is one more copy of it',
    () => {
      forAny(anyNamedPool, (pool) => {
        const picked = pool.find(({ id }) => id === pickOf(pool, name));
        if (picked === undefined) return;
        expect(patchPicked([...pool, { ...picked, id: 'copy' }], name)).toBe(picked.fingerprint);
      });
    },
    limit,
  );

  it(
    'never ranks an unknown value below the worst that is known',
    () => {
      forAny(fc.tuple(anyNamedPool, fc.constantFrom('execution_free', 'regression')), ([pool, measure]) => {
        const values = pool.filter(isEligible).map((entry) => entry[measure as 'regression']);
        const known = values.filter((value) => value !== null);
        const [twin] = pool.filter(isEligible);
        if (known.length === 0 || twin === undefined) return;
        const unknown = { ...twin, id: 'a', fingerprint: 'a', [measure]: null };
        const worst = { ...unknown, id: 'b', fingerprint: 'b', [measure]: Math.min(...known) };
        const { ranking } = selectBest(
          { instanceId: 'i', entries: [...pool, unknown, worst] },
          ruleOf(findPreset(name)),
        );
        const rankOf = (id: string): number => ranking.find(({ candidate_id }) => candidate_id === id)?.rank ?? NaN;
        expect(rankOf('a')).toBeLessThan(rankOf('b'));
      });
    },
    limit,
  );

  it(
    'keeps its patch when one more test passes that and no other',
    () => {
      forAny(anyNamedPool, (pool) => {
        const picked = patchPicked(pool, name);
        // Where it did not run on somebody, nobody knows whether it tells them apart.
        if (pool.some((entry) => isEligible(entry) && (entry.solved ?? null) === null)) return;
        const more = pool.map((entry) => {
          const [solved, of] = [entry.solved ?? null, { reproduction_out_of: 4 }];
          if (solved === null || entry.fingerprint !== picked) return { ...entry, ...of };
          const now = [...solved, 'telling'];
          return { ...entry, ...of, solved: now, reproduction: (entry.reproduction ?? 0) + 1, behaviour: now.join() };
        });
        // These count how many solve the same, and whoever solves one more leaves its group.
        if (name === 'codet' || name === 'learned') return;
        expect(patchPicked(more, name)).toBe(picked);
      });
    },
    limit,
  );
});
