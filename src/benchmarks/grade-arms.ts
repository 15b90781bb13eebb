import { pause } from '../core/async/time.js';
import { BadInputError, UnavailableError } from '../core/errors/errors.js';
import type { Candidate } from '../core/run/candidate.js';
import type { Issue } from '../core/run/issue.js';
import { type LogReader, readHere } from '../grading/runner-logs.js';
import { type GradeBook, gradeCandidates, type Graded } from '../grading/grade-candidates.js';
import type { HiddenTests } from '../grading/hidden-tests.js';
import { testCommand } from '../grading/test-command.js';
import type { Sandbox } from '../ports/sandbox.js';

/** An issue whose candidates can be graded. */
export interface Gradable {
  readonly issue: Issue;
  readonly candidates: readonly Candidate[];
  readonly tests: HiddenTests;
}

export interface HowToGrade {
  /** Instead of the repository's own; null = that one. */
  readonly command: string | null;
  readonly timeLimitS: number;
  /** Absent = where it is called. */
  readonly readLog?: LogReader | undefined;
}

/** @throws BadInputError, UnavailableError for what keeps the whole issue from being graded */
export async function gradeIssue(
  sandbox: Sandbox,
  { issue, candidates, tests }: Gradable,
  { command: given, timeLimitS, book, readLog = readHere }: HowToGrade & { readonly book: GradeBook },
  signal: AbortSignal,
): Promise<Graded> {
  const { id: imageId } = await sandbox.describeImage(issue.environment.image, signal);
  const command = testCommand(tests, given);
  const context = { sandbox, imageId, issue, tests, command, readLog, timeLimitS, pause };
  return gradeCandidates(context, candidates, book, signal);
}

/** Of many issues: one that cannot be graded leaves its candidates without a label, and the others are graded. */
export async function gradeOneOfMany(...given: Parameters<typeof gradeIssue>): Promise<Graded> {
  const [, { candidates }, , signal] = given;
  try {
    return await gradeIssue(...given);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof UnavailableError || error instanceof BadInputError)) throw error;
    const reason = `${error.message} ${error.next}`;
    return { grades: [], ungraded: candidates.map(({ candidate_id }) => ({ candidate_id, reason })), leftOut: [] };
  }
}

/** Candidates of all arms are graded together, each patch once; an arm's name holds no slash. */
export function namedByArm(arm: string, candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.map((each) => ({ ...each, candidate_id: `${arm}/${each.candidate_id}` }));
}

export function armOf(id: string): { readonly arm: string; readonly candidate_id: string } {
  const at = id.indexOf('/');
  return { arm: id.slice(0, at), candidate_id: id.slice(at + 1) };
}

/** What of it is an arm's, under its own names. */
export function gradedIn(arm: string, graded: Graded): Graded {
  const own = <T extends { readonly candidate_id: string }>(all: readonly T[]): readonly T[] =>
    all.flatMap((each) => {
      const of = armOf(each.candidate_id);
      return of.arm === arm ? [{ ...each, candidate_id: of.candidate_id }] : [];
    });
  return { ...graded, grades: own(graded.grades), ungraded: own(graded.ungraded) };
}
