import { existsSync } from 'node:fs';
import { appendFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { BadInputError } from '../core/errors/errors.js';
import type { CandidateGrade, GradeBook, Graded } from '../grading/grade-candidates.js';
import type { Grade } from '../grading/grade.js';
import { readRecords } from '../io/records/records.js';
import { table } from './selection-table.js';
import { lines, makeFolder, writeWhole } from './write-run.js';
import { visibleLine } from '../core/visible.js';

const StoredGrade = z.object({
  instance_id: z.string(),
  candidate_id: z.string(),
  resolved: z.boolean(),
  reason: z.string(),
  seconds: z.number(),
  tests: z.record(z.string(), z.enum(['passed', 'failed', 'skipped', 'error', 'missing'])),
  key: z.string(),
});

/** The folder of a `grade`: `grades.jsonl` grows with every grade, `labels.jsonl` appears in the end. */
export class GradeFiles implements GradeBook {
  private constructor(
    private readonly folder: string,
    private readonly earlier: ReadonlyMap<string, Grade>,
  ) {}

  /** Takes over what an earlier run graded under the same conditions. @throws BadInputError when it cannot be written */
  static async open(folder: string): Promise<GradeFiles> {
    const file = join(folder, 'grades.jsonl');
    try {
      await makeFolder(resolve(folder));
      const earlier = await earlierGrades(file);
      // An earlier run's labels must not stand beside this one's grades.
      await rm(join(folder, 'labels.jsonl'), { force: true });
      // Without a torn last line, to which the next grade would be appended.
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

  async close({ grades }: Graded): Promise<void> {
    const labels = grades.map(({ instance_id, candidate_id, resolved }) => ({ instance_id, candidate_id, resolved }));
    await writeWhole(join(this.folder, 'grades.jsonl'), lines(grades));
    await writeWhole(join(this.folder, 'labels.jsonl'), lines(labels));
  }
}

/** A file that a killed process left torn is read up to there. */
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

/** What was graded, as a table of text; candidates without a label are named apart. */
export function gradeSummary({ grades, ungraded, leftOut }: Graded, out: string): string {
  const rows = grades.map(({ candidate_id, resolved, seconds, reason }) => [
    visibleLine(candidate_id),
    resolved ? 'yes' : 'no',
    seconds.toFixed(1),
    visibleLine(reason),
  ]);
  const right = grades.filter(({ resolved }) => resolved).length;
  return [
    table([['candidate', 'right', 'seconds', 'reason'], ...rows]),
    '',
    ...leftOut.map(({ name, on_base }) =>
      visibleLine(`Not asked for, since it does not pass on base (${on_base}): ${name}`),
    ),
    ...ungraded.map(({ candidate_id, reason }) => visibleLine(`${candidate_id} has no label: ${reason}`)),
    `${right} of ${grades.length} resolve the issue${ungraded.length === 0 ? '' : `, ${ungraded.length} not graded`}`,
    `Labels: ${out}/labels.jsonl`,
  ].join('\n');
}
