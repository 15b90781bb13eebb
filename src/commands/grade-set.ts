import pLimit from 'p-limit';
import { pause } from '../core/async/retry.js';
import { BadInputError, UnavailableError } from '../core/errors/errors.js';
import type { Candidate } from '../core/run/candidate.js';
import type { Issue } from '../core/run/issue.js';
import { visibleLine } from '../core/visible.js';
import { type CandidateGrade, type GradeBook, gradeCandidates } from '../grading/grade-candidates.js';
import type { HiddenTests } from '../grading/hidden-tests.js';
import { testCommand } from '../grading/test-command.js';
import type { GradedInstance } from '../reports/grade-files.js';
import { printProgress } from './answer.js';
import type { App } from './app.js';
import { untilInterrupted } from './run-to-end.js';

/** An issue whose candidates can be graded. */
export interface Gradable {
  readonly issue: Issue;
  readonly candidates: readonly Candidate[];
  readonly tests: HiddenTests;
}

export interface GradingOptions {
  readonly parallel: number;
  /** Instead of the repository's own; null = that one. */
  readonly command: string | null;
  readonly timeLimitS: number;
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
  { issue, candidates, tests }: Gradable,
  signal: AbortSignal,
): Promise<GradedInstance> {
  const { instance_id } = issue;
  const book: GradeBook = {
    known: (key) => options.book.known(key),
    enter: async (entry) => {
      await options.book.enter(entry);
      printProgress(progressLine(entry, isSet));
    },
  };
  try {
    const { id: imageId } = await sandbox.describeImage(issue.environment.image, signal);
    const command = testCommand(tests, options.command);
    const context = { sandbox, imageId, issue, tests, command, timeLimitS: options.timeLimitS, pause };
    return { instance_id, graded: await gradeCandidates(context, candidates, book, signal) };
  } catch (error) {
    signal.throwIfAborted();
    if (!isSet || !(error instanceof UnavailableError || error instanceof BadInputError)) throw error;
    const reason = `${error.message} ${error.next}`;
    const ungraded = candidates.map(({ candidate_id }) => ({ candidate_id, reason }));
    return { instance_id, graded: { grades: [], ungraded, leftOut: [] } };
  }
}

function progressLine({ instance_id, candidate_id, resolved, reason, seconds }: CandidateGrade, many: boolean): string {
  const who = many ? `${instance_id} ${candidate_id}` : candidate_id;
  return visibleLine(`${who}: ${resolved ? 'resolved' : 'not resolved'}, ${reason} (${seconds} s)`);
}
