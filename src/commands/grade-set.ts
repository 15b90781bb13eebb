import pLimit from 'p-limit';
import { type Gradable, gradeIssue, gradeOneOfMany, type HowToGrade } from '../benchmarks/grade-arms.js';
import { visibleLine } from '../core/visible.js';
import type { CandidateGrade, GradeBook } from '../grading/grade-candidates.js';
import { withInterval } from '../reports/figures.js';
import type { GradedInstance } from '../reports/grade-files.js';
import { wilson, Z95 } from '../statistics/intervals/binomial.js';
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
    if (gradable.length === 1) return Promise.all(gradable.map((each) => gradeOne({ app, options }, each, signal)));
    const shares: number[] = [];
    let ended = 0;
    const one = async (each: Gradable): Promise<GradedInstance> => {
      const { instance_id } = each.issue;
      const graded = await gradeOneOfMany(app.sandbox, each, options, signal);
      ended += 1;
      const { grades, ungraded } = graded;
      const right = grades.filter(({ resolved }) => resolved).length;
      if (grades.length > 0) shares.push(right / grades.length);
      const without = ungraded.length === 0 ? '' : `, ${ungraded.length} without a label`;
      const said = `${right} of ${grades.length} resolve the issue${without}`;
      const far = `${ended} of ${gradable.length} issues graded${passAt1(shares)}`;
      printProgress(`${visibleLine(instance_id)}: ${said} (${far})`);
      return { instance_id, graded };
    };
    return Promise.all(gradable.map((each) => limit(() => one(each))));
  });
}

/** Over the issues so far: the share of their candidates that is right, with its 95 % interval. */
function passAt1(shares: readonly number[]): string {
  const n = shares.length;
  if (n < 2) return '';
  const value = shares.reduce((sum, share) => sum + share, 0) / n;
  const variance = shares.reduce((sum, share) => sum + (share - value) ** 2, 0) / (n - 1);
  const half = Z95 * Math.sqrt(variance / n);
  // Where all are equal, there is no spread to tell how unsure it is.
  const interval =
    value === 0 || value === 1
      ? wilson(value * n, n)
      : { low: Math.max(0, value - half), high: Math.min(1, value + half) };
  return `; Pass@1 ${withInterval({ value, ...interval })}`;
}

interface Grading {
  readonly app: App;
  readonly options: GradingOptions;
}

async function gradeOne(
  { app: { sandbox }, options }: Grading,
  gradable: Gradable,
  signal: AbortSignal,
): Promise<GradedInstance> {
  const book: GradeBook = {
    known: (key) => options.book.known(key),
    enter: async (entry) => {
      await options.book.enter(entry);
      printProgress(progressLine(entry));
    },
  };
  return {
    instance_id: gradable.issue.instance_id,
    graded: await gradeIssue(sandbox, gradable, { ...options, book }, signal),
  };
}

function progressLine({ candidate_id, resolved, reason, seconds }: CandidateGrade): string {
  return visibleLine(`${candidate_id}: ${resolved ? 'resolved' : 'not resolved'}, ${reason} (${seconds} s)`);
}
