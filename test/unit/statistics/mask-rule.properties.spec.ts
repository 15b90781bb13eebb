import fc from 'fast-check';
import { seededRandom, shuffle } from '../../../src/core/random.js';
import { IssueColumns, type ScoredIssue } from '../../../src/statistics/curves/scored-issue.js';
import { MaskRule } from '../../../src/statistics/curves/mask-rule.js';
import { stepsOf } from '../../../src/statistics/curves/exact-plan.js';
import { SubsetRule } from '../../../src/statistics/curves/subset-rule.js';
import type { Preset } from '../../../src/core/run/preset.js';
import { findPreset, parsePreset, PRESET_NAMES } from '../../../verifiers/hybrid/presets.js';
import { times } from '../../fixtures/property-runs.js';
import { entryOf } from '../verifiers/hybrid/entry-of.js';
import { anyIssue, anyTiedIssue, bestByEnumeration, issueOf } from './issues.js';

const wide = parsePreset({
  name: 'wide',
  stages: [
    { stage: 'max', by: 'regression', within: 1 },
    { stage: 'above', by: 'reproduction', than: 1, otherwise: 'none' },
    { stage: 'top', by: 'execution_free', n: 'half' },
    { stage: 'min', by: 'patch_size', within: 2 },
  ],
});
const presets = [...PRESET_NAMES.filter((n) => n !== 'latent' && n !== 'bayes').map(findPreset), wide];

/** Several issues as one of up to `most` candidates. */
function joined(issues: readonly ScoredIssue[], most: number): ScoredIssue {
  const candidates = issues.flatMap((issue, at) =>
    issue.candidates.map((each) => ({ ...each, entry: { ...each.entry, id: `${at} ${each.entry.id}` } })),
  );
  return { instanceId: 'o__r-1', repo: 'o/r', unknownLabels: [], candidates: candidates.slice(0, most) };
}

function rulesOf(issue: ScoredIssue, { stages }: Preset) {
  const columns = new IssueColumns(issue);
  const labels = Float64Array.from(issue.candidates, ({ resolved }) => Number(resolved));
  const { deciding } = stepsOf(columns, stages);
  return { masks: MaskRule.of(deciding, columns, labels), subsets: new SubsetRule(deciding, columns, labels) };
}

describe('a rule over sets as bits', () => {
  it.each([
    ['gaps and copies', anyIssue()],
    ['most of them tied', anyTiedIssue()],
  ])('says of any draw what the rule over lists says, with %s', (_, issues) => {
    let compared = 0;
    fc.assert(
      fc.property(
        fc.array(issues, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(...presets),
        fc.nat(),
        (parts, preset, seed) => {
          const issue = joined(parts, 32);
          const { masks, subsets } = rulesOf(issue, preset);
          if (masks === null) return;
          const n = issue.candidates.length;
          const drawn = Int32Array.from({ length: n }, (__, index) => index);
          const random = seededRandom(seed);
          for (let k = 1; k <= n; k += 1) {
            shuffle(drawn, random);
            expect(masks.chance(drawn, k)).toBeCloseTo(subsets.chance(drawn, k), 12);
            compared += 1;
          }
        },
      ),
      { numRuns: times(100) },
    );
    expect(compared).toBeGreaterThan(100);
  });

  it('takes candidates without a vote', () => {
    const facts = fc.record({ fingerprint: fc.constantFrom('p', 'q', 'r'), told: fc.boolean(), right: fc.boolean() });
    fc.assert(
      fc.property(fc.array(facts, { minLength: 1, maxLength: 8 }), (all) => {
        const issue = issueOf(
          all.map(({ fingerprint, told }, index) => entryOf(`c${index}`, { fingerprint, told })),
          all.map(({ right }) => right),
        );
        const { masks, subsets } = rulesOf(issue, findPreset('majority'));
        const drawn = Int32Array.from({ length: all.length }, (_, index) => index);
        for (let k = 1; k <= all.length; k += 1) {
          const first = { ...issue, candidates: issue.candidates.slice(0, k) };
          const expected = bestByEnumeration(first, findPreset('majority'), k);
          expect(masks?.chance(drawn, k)).toBeCloseTo(expected, 12);
          expect(subsets.chance(drawn, k)).toBeCloseTo(expected, 12);
        }
      }),
    );
  });

  it('takes 32 candidates, the last of which is the sign of a number, and no more', () => {
    const parts = fc.sample(anyTiedIssue(), { numRuns: 40, seed: 1 });
    const [issue, first] = [joined(parts, 33), joined(parts, 32)];
    expect(issue.candidates).toHaveLength(33);
    expect(rulesOf(issue, findPreset('kozuchi')).masks).toBeNull();
    const { masks, subsets } = rulesOf(first, findPreset('kozuchi'));
    const all = Int32Array.from({ length: 32 }, (_, index) => index);
    expect(masks?.chance(all, 32)).toBeCloseTo(subsets.chance(all, 32), 12);
  });
});
