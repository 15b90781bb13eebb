import fc from 'fast-check';
import { DEFAULT_BEST } from '../../../src/statistics/curves/best-at-k.js';
import { Curves } from '../../../src/statistics/curves/curves.js';
import type { CurvesReport } from '../../../src/statistics/curves/curves-report.js';
import type { ScoredIssue } from '../../../src/statistics/curves/scored-issue.js';
import { unknownLabelsIn } from '../../../src/statistics/curves/unknown-labels.js';
import { findPreset } from '../../../verifiers/hybrid/presets.js';
import { anyPool, entryOf } from '../verifiers/hybrid/entry-of.js';
import { issueOf } from './issues.js';

const presets = ['random', 'majority', 'ef-only', 'deepswe'].map(findPreset);

function curves(issues: readonly ScoredIssue[]): CurvesReport {
  const made = new Curves({ ks: [1, 2, 3], presets, axes: [], resamples: 20, best: DEFAULT_BEST });
  for (const issue of issues) made.add(issue);
  return made.report();
}

/** Without the counts of unknown labels. */
function numbersOf({ coverage, ...report }: CurvesReport): unknown {
  const { issues, repos, candidates, issues_without_candidates, issues_below_largest_k, without_patch, known } =
    coverage;
  const counts = { issues, repos, candidates, issues_without_candidates, issues_below_largest_k, without_patch, known };
  return { ...report, coverage: counts };
}

const label = fc.constantFrom(true, false, null);
const pool = anyPool(7).chain((entries) =>
  fc.record({
    entries: fc.constant(entries),
    labels: fc.array(label, { minLength: entries.length, maxLength: entries.length }),
  }),
);

describe('unknown labels', () => {
  it('change no number: they equal those of the same pools without these candidates', () => {
    fc.assert(
      fc.property(fc.array(pool, { minLength: 1, maxLength: 6 }), (pools) => {
        // An issue whose labels are all known, with as many candidates as the largest k.
        const whole = issueOf(
          ['a', 'b', 'c'].map((id) => entryOf(id)),
          [true, false, false],
          'o__known-1',
        );
        const given = pools.map(({ entries, labels }, index) => issueOf(entries, labels, `o__r-${index}`));
        const without = pools.flatMap(({ entries, labels }, index) => {
          const isKnown = (_: unknown, at: number): boolean => labels[at] !== null;
          const isDropped = entries.length > 0 && labels.every((each) => each === null);
          return isDropped ? [] : [issueOf(entries.filter(isKnown), labels.filter(isKnown), `o__r-${index}`)];
        });
        const report = curves([whole, ...given]);
        expect(numbersOf(report)).toEqual(numbersOf(curves([whole, ...without])));
        const unknown = pools.flatMap(({ labels }) => labels).filter((each) => each === null).length;
        expect(report.coverage).toMatchObject({
          ungraded_candidates: unknown,
          unknown_labels: { candidates: unknown },
        });
      }),
    );
  });

  const issue = (instanceId: string, known: number, ...unknownLabels: (string | null)[]): ScoredIssue => ({
    ...issueOf(
      Array.from({ length: known }, (_, at) => entryOf(`c${at}`)),
      Array.from({ length: known }, () => false),
    ),
    ...{ instanceId, unknownLabels },
  });

  it('are counted by reason, and an issue without a known label keeps its own', () => {
    const all = [issue('b', 0, 'timed out', 'timed out', 'lost'), issue('c', 1, 'lost', null), issue('a', 0, null)];
    expect(unknownLabelsIn([...all, issue('d', 2)])).toEqual({
      ...{ candidates: 6, issues: 2 },
      reasons: [
        { reason: null, candidates: 2, issues: 2 },
        { reason: 'lost', candidates: 2, issues: 2 },
        { reason: 'timed out', candidates: 2, issues: 1 },
      ],
      issues_without_known_label: [
        { instance_id: 'a', candidates: 1, reason: null },
        { instance_id: 'b', candidates: 3, reason: 'timed out' },
      ],
    });
  });

  it('fill no report, however many reasons and issues there are', () => {
    const many = Array.from({ length: 3_000 }, (_, at) => issue(`i-${at}`, 0, `reason ${at}`));
    const { candidates, issues, reasons, issues_without_known_label: listed } = unknownLabelsIn(many);
    expect([candidates, issues, reasons.length, listed.length]).toEqual([3_000, 3_000, 20, 100]);
    expect(reasons[0]).toEqual({ reason: null, candidates: 2_000, issues: 2_000 });
  });
});
