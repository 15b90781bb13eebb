import type { TestStatus } from '../../verifiers/execution-based/reports/test-log.js';
import { UnavailableError } from '../core/errors/errors.js';
import { contentKey } from '../core/identifier.js';
import { fingerprint, type ReadablePatch, readPatch } from '../core/patch/patch.js';
import type { Candidate } from '../core/run/candidate.js';
import { disagreement, judge, MAINTAINED, ranAll, requiredTests, statusesOf } from './judge.js';
import { type References, ReferenceRuns } from './reference-runs.js';
import { type GradingContext, runBase, runPatch } from './run-hidden-tests.js';

/** The outcome reward of one patch. */
export interface Grade {
  /** Null = unknown: the patch has no label, for the reason given. */
  readonly resolved: boolean | null;
  /** One sentence for people. */
  readonly reason: string;
  /** Seconds that the test command took; 0 when it was not run. */
  readonly seconds: number;
  /** Every required test by its name in the list; empty when none was run. */
  readonly tests: Readonly<Record<string, TestStatus>>;
}

/** Increment this when the way of grading changes: earlier grades are then not reused. */
const PROTOCOL = 5;

export interface CandidateGrade extends Grade {
  readonly instance_id: string;
  readonly candidate_id: string;
  /** Hash of everything the grade depends on. */
  readonly key: string;
}

/** A candidate without a label, because the infrastructure failed: neither right nor wrong. */
export interface Ungraded {
  readonly candidate_id: string;
  readonly reason: string;
}

export interface Graded {
  /** In the order of the candidates; those without a label, too, if their tests were run. */
  readonly grades: readonly CandidateGrade[];
  readonly ungraded: readonly Ungraded[];
  /** Listed tests that were not required of any candidate. */
  readonly leftOut: readonly LeftOut[];
  /** Why no patch of the instance can be labelled right: its logs cannot be read; null = a patch could be. */
  readonly unreadable: string | null;
  /** Why the gold patch does not pass here; null = it does, or was not run. */
  readonly goldProblem: string | null;
}

/** Numbers of candidates with a label, of right ones among them, and of those whose label is unknown. */
export function countLabels(grades: readonly Pick<Grade, 'resolved'>[]): {
  readonly graded: number;
  readonly resolved: number;
  readonly unknown: number;
} {
  const count = (label: boolean | null): number => grades.filter(({ resolved }) => resolved === label).length;
  return { graded: grades.length - count(null), resolved: count(true), unknown: count(null) };
}

/** Labels by candidate, without unknown ones. */
export function labelsIn(grades: readonly CandidateGrade[]): ReadonlyMap<string, boolean> {
  return new Map(grades.flatMap(({ candidate_id, resolved }) => (resolved === null ? [] : [[candidate_id, resolved]])));
}

export interface GradeBook {
  /** The grade from an earlier run under this key, if any; without a label, it is not used again. */
  known(key: string): Grade | null | Promise<Grade | null>;
  /** Receives every grade as soon as it exists, with or without a label. */
  enter(grade: CandidateGrade): Promise<void>;
}

/**
 * Grades every distinct patch once, in a fresh container, after running the hidden tests on base. Doubtful runs are
 * decided by base and gold; if they show that no patch can be labelled right, none is labelled wrong for its tests.
 * @throws the signal's reason when aborted; UnavailableError when base could not be run
 */
export async function gradeCandidates(
  context: GradingContext,
  candidates: readonly Candidate[],
  book: GradeBook,
  signal: AbortSignal,
): Promise<Graded> {
  const { leftOut, ...references } = await withoutBroken(context, signal);
  const grader = new Grader(references);
  const grades = new Map<string, CandidateGrade>();
  const ungraded = new Map<string, string>();
  await Promise.all(
    distinct(references, candidates).map(async ({ key, ids, text, readAs }) => {
      try {
        const earlier = await book.known(key);
        const grade = earlier === null || earlier.resolved === null ? await grader.grade(text, signal) : earlier;
        for (const candidate_id of ids) {
          const { instance_id } = context.issue;
          const { resolved, seconds, tests } = grade;
          const reason = grade.reason.replace(READ_AS, '') + (readAs.get(candidate_id) ?? '');
          const entry = { instance_id, candidate_id, resolved, reason, seconds, tests, key };
          await book.enter(entry);
          grades.set(candidate_id, entry);
        }
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof UnavailableError)) throw error;
        for (const id of ids) if (!grades.has(id)) ungraded.set(id, `${error.message} ${error.next}`);
      }
    }),
  );
  const { unreadable, goldProblem } = grader.reference;
  const ids = candidates.map(({ candidate_id }) => candidate_id);
  return {
    grades: ids.flatMap((id) => grades.get(id) ?? []).map((grade) => withoutUnfairLabel(grade, unreadable)),
    ungraded: ids.flatMap((id) => {
      const reason = ungraded.get(id);
      return reason === undefined ? [] : [{ candidate_id: id, reason }];
    }),
    ...{ leftOut, unreadable, goldProblem },
  };
}

/** If no patch can be labelled right, none is labelled wrong because of its tests. */
function withoutUnfairLabel(grade: CandidateGrade, unreadable: string | null): CandidateGrade {
  const isByTests = grade.resolved === false && Object.keys(grade.tests).length > 0;
  return unreadable === null || !isByTests ? grade : { ...grade, resolved: null, reason: unreadable };
}

/** What a reason says of one candidate's own text; a grade is shared by all whose patches are equal once they are read. */
const READ_AS = / \(read with [^()]*\)$/;

interface Distinct {
  readonly key: string;
  readonly ids: string[];
  readonly text: string;
  /** By candidate; absent = its text is read as it is. */
  readonly readAs: Map<string, string>;
}

function distinct(references: References, candidates: readonly Candidate[]): readonly Distinct[] {
  const { bench } = references;
  const groups = new Map<string, Distinct>();
  for (const { candidate_id, patch: text } of candidates) {
    const patch = readPatch(text);
    const content = patch.kind === 'ok' ? wholeFingerprint(patch) : text.trim();
    const key = keyOf(references, bench.repeats ? `${candidate_id} ${content}` : content);
    const group = groups.get(key) ?? { key, ids: [], text, readAs: new Map<string, string>() };
    groups.set(key, group);
    group.ids.push(candidate_id);
    const repairs = patch.kind === 'ok' ? patch.repairs : [];
    if (repairs.length > 0) group.readAs.set(candidate_id, ` (read with ${repairs.join(', ')})`);
  }
  return [...groups.values()];
}

class Grader {
  readonly reference;

  constructor(private readonly references: References) {
    this.reference = new ReferenceRuns(references);
  }

  /** @throws UnavailableError when the infrastructure kept failing: no grade, and never 0 */
  async grade(text: string, signal: AbortSignal): Promise<Grade> {
    const { bench, listed } = this.references;
    const run =
      bench.repeats && text.trim() === '' ? await runBase(bench, signal) : await runPatch(bench, text, signal);
    // The patch itself decides, whatever its tests would have printed.
    if (typeof run === 'string') return { resolved: false, reason: run, seconds: 0, tests: {} };
    const { resolved, reason } = await this.reference.settle(judge(bench, run, listed), run, signal);
    const repaired = run.repairs.length === 0 ? '' : ` (applied with ${run.repairs.join(', ')})`;
    return {
      ...{ resolved, reason: reason + repaired },
      seconds: Math.round(run.ended.durationMs / 10) / 100,
      tests: Object.fromEntries(statusesOf(run.log, requiredTests(bench.tests))),
    };
  }
}

/** Covers all files, tests included, because grading applies the whole patch. */
function wholeFingerprint({ files }: ReadablePatch): string {
  return fingerprint({ files: files.map((file) => ({ ...file, role: 'source' })) });
}

/** @param patch what is equal for patches that are graded alike */
function keyOf({ bench, listed }: References, patch: string): string {
  const { imageId, issue, tests, command, timeLimitS, sandbox } = bench;
  const { workdir, base_commit, setup_patch } = issue.environment;
  const { testPatch, failToPass, passToPass, gold } = tests;
  const instance = [issue.instance_id, imageId, workdir, base_commit];
  const { line, format, scripts } = command;
  const asked = [testPatch, failToPass, passToPass, listed, gold, line, format, scripts, setup_patch, timeLimitS];
  return contentKey([PROTOCOL, instance, asked, sandbox.limits, patch]);
}

/** A PASS_TO_PASS test that does not pass on base in this image. */
export interface LeftOut {
  readonly name: string;
  readonly on_base: TestStatus;
}

/**
 * Runs the hidden tests once on base. A PASS_TO_PASS test that does not pass there (the image's repository lacks it, or
 * it needs the network) cannot count against a patch: it is left out and reported. FAIL_TO_PASS is kept in full, and so
 * are all tests if the run on base is not credible, and those that it may not have reached.
 * @throws BadInputError when the test patch does not apply to base, which would make every patch wrong
 */
async function withoutBroken(
  bench: GradingContext,
  signal: AbortSignal,
): Promise<References & { readonly leftOut: readonly LeftOut[] }> {
  const { tests } = bench;
  const listed = requiredTests(tests);
  const base = await runBase(bench, signal);
  // Strict for a row's own script, too: pytest ends with 2 if it collects no file, which must leave out no test.
  if (disagreement(base, bench.command.format) !== null) return { bench, base, listed, leftOut: [] };
  const kept: readonly TestStatus[] = ranAll(base, bench.command) ? MAINTAINED : [...MAINTAINED, 'missing'];
  const isKept = (name: string): boolean => kept.includes(base.log.statusOf(name));
  const leftOut = tests.passToPass
    .filter((name) => !isKept(name) && !tests.failToPass.includes(name))
    .map((name) => ({ name, on_base: base.log.statusOf(name) }));
  const required = { ...tests, passToPass: tests.passToPass.filter(isKept) };
  return { bench: { ...bench, tests: required }, base, listed, leftOut };
}
