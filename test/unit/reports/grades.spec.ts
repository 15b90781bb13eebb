import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CandidateGrade, Graded } from '../../../src/grading/grade-candidates.js';
import { GradeFiles, gradesOfSet, gradeSummary } from '../../../src/reports/grades.js';

function grade(candidate_id: string, resolved: boolean | null, reason = 'a reason'): CandidateGrade {
  return { instance_id: 'i', candidate_id, resolved, reason, seconds: 1, tests: {}, key: candidate_id };
}

function graded(grades: readonly CandidateGrade[], more: Partial<Graded> = {}): Graded {
  return { grades, ungraded: [], leftOut: [], unreadable: null, goldProblem: null, ...more };
}

const MIXED = graded([grade('a', true), grade('b', false), grade('c', null, 'timed out: 1200 s')], {
  goldProblem: '1 of 3 tests did not pass',
});
const UNREADABLE = graded([grade('d', null, 'found: none'), grade('e', null, 'found: none')], {
  unreadable: 'found: none',
});
const SET = [
  { instance_id: 'i', graded: MIXED },
  { instance_id: 'j', graded: UNREADABLE },
];

function lines(folder: string, name: string): unknown[] {
  const text = readFileSync(join(folder, name), 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
}

describe('the results of grading', () => {
  it('count unknown labels apart from right and wrong ones', () => {
    const text = gradeSummary(SET, 'out', []);
    expect(text).toContain('1 of 2 resolve their issue, 3 unknown');
    expect(text).toContain('i, gold does not pass here: 1 of 3 tests did not pass');
    expect(text).toContain('i, c has no label: timed out: 1200 s');
    expect(text).toContain('j, no patch can be labelled right: found: none');
    expect(text).not.toContain('d has no label');
    expect(text).toContain('1 of 2 issues have tests that cannot be used (skipped.jsonl)');
    expect(gradesOfSet(SET)).toMatchObject({ graded: 2, resolved: 1, unknown: 3 });
  });

  it('shows an unknown label in the table of one issue', () => {
    expect(gradeSummary(SET.slice(0, 1), 'out', [])).toMatch(/^c +unknown +1\.0 +timed out: 1200 s$/m);
  });

  it('are stored with the reason of every unknown label, and asked for again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bestk-grades-'));
    const files = await GradeFiles.open(folder);
    for (const each of [...MIXED.grades, ...UNREADABLE.grades]) await files.enter(each);
    await files.close(SET);
    expect(lines(folder, 'labels.jsonl')).toEqual([
      { instance_id: 'i', candidate_id: 'a', resolved: true },
      { instance_id: 'i', candidate_id: 'b', resolved: false },
      { instance_id: 'i', candidate_id: 'c', resolved: null, reason: 'timed out: 1200 s' },
      { instance_id: 'i', candidate_id: 'd', resolved: null, reason: 'found: none' },
      { instance_id: 'i', candidate_id: 'e', resolved: null, reason: 'found: none' },
    ]);
    expect(lines(folder, 'skipped.jsonl')).toEqual([
      { instance_id: 'j', reason: 'found: none', code: 'unreadable-tests' },
    ]);
    const later = await GradeFiles.open(folder);
    expect(['a', 'b', 'c', 'd'].map((key) => later.known(key)?.resolved)).toEqual([true, false, undefined, undefined]);
    const anew = await GradeFiles.open(folder, true);
    expect(anew.known('a')).toBeNull();
  });
});
