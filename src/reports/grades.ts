import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { BadInputError } from '../core/errors/errors.js';
import { visibleLine } from '../core/hostile-text.js';
import {
  type CandidateGrade,
  countLabels,
  type Grade,
  type GradeBook,
  type Graded,
} from '../grading/grade-candidates.js';
import { readRecords } from '../io/records/records.js';
import { table } from './selection-table.js';
import { folderName } from '../io/saved-runs/saved-files.js';
import type { Skipped } from './set-files.js';
import { lines, makeFolder, writeWhole } from './write-run.js';

const StoredGrade = z.object({
  instance_id: z.string(),
  candidate_id: z.string(),
  resolved: z.boolean().nullable(),
  reason: z.string(),
  seconds: z.number(),
  tests: z.record(z.string(), z.enum(['passed', 'failed', 'skipped', 'error', 'missing'])),
  key: z.string(),
});

/** The folder written by `grade`: each grade is appended to `grades.jsonl`; `labels.jsonl` is written at the end. */
export class GradeFiles implements GradeBook {
  private constructor(
    private readonly folder: string,
    private readonly earlier: ReadonlyMap<string, Grade>,
  ) {}

  /**
   * Reuses grades of an earlier run made under the same conditions.
   * @param ignoresEarlier whether they are removed instead
   * @throws BadInputError if the folder cannot be written
   */
  static async open(folder: string, ignoresEarlier = false): Promise<GradeFiles> {
    const file = join(folder, 'grades.jsonl');
    try {
      await makeFolder(resolve(folder));
      const earlier = (ignoresEarlier ? [] : await earlierGrades(file)).filter(({ resolved }) => resolved !== null);
      // Labels of an earlier run must not remain next to this run's grades. Other commands write files of these names, too.
      const isSet = existsSync(join(folder, 'selections.jsonl'));
      const stale = existsSync(file) ? ['labels.jsonl', ...(isSet ? [] : ['skipped.jsonl'])] : [];
      for (const name of stale) await rm(join(folder, name), { force: true });
      // Drops a torn last line, to which the next grade would be appended.
      await writeWhole(file, lines(earlier));
      return new GradeFiles(folder, new Map(earlier.map((grade) => [grade.key, grade])));
    } catch (error) {
      throw new BadInputError(`cannot be written: ${(error as Error).message}`, { file: folder, field: '--out' });
    }
  }

  known(key: string): Grade | null {
    return this.earlier.get(key) ?? null;
  }

  async enter(grade: CandidateGrade): Promise<void> {
    if (!this.earlier.has(grade.key)) await appendFile(join(this.folder, 'grades.jsonl'), lines([grade]));
  }

  /**
   * With several instances, each also gets a folder with its own files.
   * @param without further instances that were asked for
   */
  async close(set: readonly GradedInstance[], without: readonly Skipped[] = []): Promise<void> {
    await this.write(this.folder, set);
    const unreadable = set.flatMap(({ instance_id, graded: { unreadable: reason } }) =>
      reason === null ? [] : [{ instance_id, reason, code: 'unreadable-tests' }],
    );
    const skipped = [...without, ...unreadable];
    if (skipped.length > 0) await writeWhole(join(this.folder, 'skipped.jsonl'), lines(skipped));
    if (set.length + without.length < 2) return;
    for (const one of set) {
      const folder = join(this.folder, folderName(one.instance_id));
      await makeFolder(folder);
      await this.write(folder, [one]);
    }
  }

  private async write(folder: string, set: readonly GradedInstance[]): Promise<void> {
    const grades = set.flatMap(({ graded }) => graded.grades);
    const labels = grades.map(({ instance_id, candidate_id, resolved, reason }) => ({
      ...{ instance_id, candidate_id, resolved },
      ...(resolved === null ? { reason } : {}),
    }));
    await writeWhole(join(folder, 'grades.jsonl'), lines(grades));
    await writeWhole(join(folder, 'labels.jsonl'), lines(labels));
  }
}

/** The grades of one instance's candidates. */
export interface GradedInstance {
  readonly instance_id: string;
  readonly graded: Graded;
}

/** If a killed process left the file torn, it is read up to the damage. */
async function earlierGrades(file: string): Promise<readonly CandidateGrade[]> {
  const grades: CandidateGrade[] = [];
  if (!existsSync(file)) return grades;
  try {
    for await (const { value } of readRecords(file)) {
      const stored = StoredGrade.safeParse(value);
      if (stored.success) grades.push(stored.data);
    }
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
  }
  return grades;
}

/** Counts of graded candidates by instance. */
export function gradesOfSet(set: readonly GradedInstance[]): Record<string, unknown> {
  const counted = set.map(({ instance_id, graded: { grades, ungraded, leftOut, unreadable, goldProblem } }) => ({
    instance_id,
    ...countLabels(grades),
    ungraded,
    left_out: leftOut,
    unreadable,
    gold_problem: goldProblem,
  }));
  return { ...countLabels(gradesIn(set)), instances: counted };
}

/** Grades as a text table; candidates without a label are listed separately. */
export function gradeSummary(set: readonly GradedInstance[], out: string, skipped: readonly Skipped[]): string {
  const [only, ...others] = set;
  const isOne = others.length === 0;
  const head = only !== undefined && isOne ? candidateTable(only.graded) : instanceTable(set);
  const notes = set.flatMap(({ instance_id, graded }) => notesOn(graded, isOne ? '' : `${instance_id}, `, isOne));
  const { graded, resolved, unknown } = countLabels(gradesIn(set));
  const ungraded = set.reduce((sum, each) => sum + each.graded.ungraded.length, 0);
  const without = skipped.filter(({ code }) => code === 'no-candidates').length;
  const unusable = skipped.length - without + set.filter((each) => each.graded.unreadable !== null).length;
  const issues = set.length + skipped.length;
  return [
    head,
    '',
    ...notes.map(visibleLine),
    [
      `${resolved} of ${graded} resolve ${isOne ? 'the' : 'their'} issue`,
      ...(unknown === 0 ? [] : [`${unknown} unknown`]),
      ...(ungraded === 0 ? [] : [`${ungraded} not graded`]),
    ].join(', '),
    ...(without === 0 ? [] : [`${without} of ${issues} issues have no candidates (skipped.jsonl)`]),
    ...(unusable === 0 ? [] : [`${unusable} of ${issues} issues have tests that cannot be used (skipped.jsonl)`]),
    `Labels: ${out}/labels.jsonl`,
  ].join('\n');
}

function gradesIn(set: readonly GradedInstance[]): readonly CandidateGrade[] {
  return set.flatMap(({ graded }) => graded.grades);
}

/** @param hasTable whether a table states the reason of each grade */
function notesOn(
  { grades, ungraded, leftOut, unreadable, goldProblem }: Graded,
  of: string,
  hasTable: boolean,
): string[] {
  const unlabelled = hasTable || unreadable !== null ? [] : grades.filter(({ resolved }) => resolved === null);
  return [
    ...leftOut.map(({ name, on_base }) => `Not required, because it does not pass on base (${on_base}): ${of}${name}`),
    ...(goldProblem === null ? [] : [`${of}gold does not pass here: ${goldProblem}`]),
    ...(unreadable === null ? [] : [`${of}no patch can be labelled right: ${unreadable}`]),
    ...[...unlabelled, ...ungraded].map(({ candidate_id, reason }) => `${of}${candidate_id} has no label: ${reason}`),
  ];
}

function candidateTable({ grades }: Graded): string {
  const rows = grades.map(({ candidate_id, resolved, seconds, reason }) => [
    visibleLine(candidate_id),
    resolved === null ? 'unknown' : resolved ? 'yes' : 'no',
    seconds.toFixed(1),
    visibleLine(reason),
  ]);
  return table([['candidate', 'right', 'seconds', 'reason'], ...rows]);
}

function instanceTable(set: readonly GradedInstance[]): string {
  const rows = set.map(({ instance_id, graded: { grades, ungraded } }) => {
    const { graded, resolved, unknown } = countLabels(grades);
    return [visibleLine(instance_id), ...[resolved, graded, unknown, ungraded.length].map(String)];
  });
  return table([['instance', 'right', 'graded', 'unknown', 'not graded'], ...rows]);
}
