import pLimit from 'p-limit';
import { type Gradable, gradeIssue, gradeOneOfMany, type HowToGrade } from '../benchmarks/grade-arms.js';
import { visibleLine } from '../core/visible.js';
import type { CandidateGrade, GradeBook } from '../grading/grade-candidates.js';
import type { GradedInstance } from '../reports/grade-files.js';
import { printProgress } from './answer.js';
import type { App } from './app.js';
import { untilInterrupted } from './run-to-end.js';

export interface GradingOptions extends HowToGrade {
  readonly parallel: number;
  readonly book: GradeBook;
}

/**
 * Grades the candidates of some issues and closes the application. Of several, the candidates of an issue that cannot be
 * graded have no label, and the others are graded.
 * @throws InterruptedError; of one issue, what kept it from being graded
 */
export function gradeSet(
  app: App,
  gradable: readonly Gradable[],
  options: GradingOptions,
): Promise<readonly GradedInstance[]> {
  return untilInterrupted(app, (signal) => {
    const limit = pLimit(options.parallel);
    const isSet = gradable.length > 1;
    return Promise.all(gradable.map((each) => limit(() => gradeOne({ app, options, isSet }, each, signal))));
  });
}

interface Grading {
  readonly app: App;
  readonly options: GradingOptions;
  readonly isSet: boolean;
}

async function gradeOne(
  { app: { sandbox }, options, isSet }: Grading,
  gradable: Gradable,
  signal: AbortSignal,
): Promise<GradedInstance> {
  const { instance_id } = gradable.issue;
  const book: GradeBook = {
    known: (key) => options.book.known(key),
    enter: async (entry) => {
      await options.book.enter(entry);
      printProgress(progressLine(entry, isSet));
    },
  };
  const grade = isSet ? gradeOneOfMany : gradeIssue;
  return { instance_id, graded: await grade(sandbox, gradable, { ...options, book }, signal) };
}

function progressLine({ instance_id, candidate_id, resolved, reason, seconds }: CandidateGrade, many: boolean): string {
  const who = many ? `${instance_id} ${candidate_id}` : candidate_id;
  return visibleLine(`${who}: ${resolved ? 'resolved' : 'not resolved'}, ${reason} (${seconds} s)`);
}
