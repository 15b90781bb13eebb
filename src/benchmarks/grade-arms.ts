import { pause } from '../core/async/time.js';
import { BadInputError, UnavailableError } from '../core/errors/errors.js';
import type { Candidate } from '../core/run/candidate.js';
import type { Issue } from '../core/run/issue.js';
import { type LogReader, readHere } from '../grading/runner-logs.js';
import { type GradeBook, gradeCandidates, type Graded } from '../grading/grade-candidates.js';
import type { HiddenTests } from '../grading/hidden-tests.js';
import { testCommand } from '../grading/test-command.js';
import type { Sandbox } from '../ports/sandbox.js';

/** An issue with candidates to grade and its hidden tests. */
export interface Gradable {
  readonly issue: Issue;
  readonly candidates: readonly Candidate[];
  readonly tests: HiddenTests;
}

export interface HowToGrade {
  /** Replaces the repository's own command; null = use that. */
  readonly command: string | null;
  readonly timeLimitS: number;
  /** Whether every candidate is graded by itself, even if equal or empty, to compare repeated runs; absent = no. */
  readonly repeats?: boolean;
  /** Absent = logs are read in the calling thread. */
  readonly readLog?: LogReader | undefined;
}

/** @throws BadInputError, UnavailableError if the issue cannot be graded at all */
export async function gradeIssue(
  sandbox: Sandbox,
  { issue, candidates, tests }: Gradable,
  { command: given, timeLimitS, book, readLog = readHere, repeats = false }: HowToGrade & { readonly book: GradeBook },
  signal: AbortSignal,
): Promise<Graded> {
  const { id: imageId } = await sandbox.describeImage(issue.environment.image, signal);
  const command = testCommand(tests, given);
  const context = { sandbox, imageId, issue, tests, command, readLog, repeats, timeLimitS, pause };
  return gradeCandidates(context, candidates, book, signal);
}

/** Grades one of many issues: if it cannot be graded, its candidates get no label and the other issues are unaffected. */
export async function gradeOneOfMany(...given: Parameters<typeof gradeIssue>): Promise<Graded> {
  const [, { candidates }, , signal] = given;
  try {
    return await gradeIssue(...given);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof UnavailableError || error instanceof BadInputError)) throw error;
    const reason = `${error.message} ${error.next}`;
    const ungraded = candidates.map(({ candidate_id }) => ({ candidate_id, reason }));
    return { grades: [], ungraded, leftOut: [], unreadable: null, goldProblem: null };
  }
}

/** Prefixes candidate ids with the arm, so that all arms are graded together, each patch once; arm names contain no slash. */
export function namedByArm(arm: string, candidates: readonly Candidate[]): readonly Candidate[] {
  return candidates.map((each) => ({ ...each, candidate_id: `${arm}/${each.candidate_id}` }));
}

export function armOf(id: string): { readonly arm: string; readonly candidate_id: string } {
  const at = id.indexOf('/');
  return { arm: id.slice(0, at), candidate_id: id.slice(at + 1) };
}

/** The part of the grades that belongs to an arm, with its original candidate ids. */
export function gradedIn(arm: string, graded: Graded): Graded {
  const own = <T extends { readonly candidate_id: string }>(all: readonly T[]): readonly T[] =>
    all.flatMap((each) => {
      const of = armOf(each.candidate_id);
      return of.arm === arm ? [{ ...each, candidate_id: of.candidate_id }] : [];
    });
  return { ...graded, grades: own(graded.grades), ungraded: own(graded.ungraded) };
}
