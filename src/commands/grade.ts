import type { Command } from 'commander';
import pLimit from 'p-limit';
import { type Gradable, gradeIssue, gradeOneOfMany, type HowToGrade } from '../benchmarks/grade-arms.js';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import { visibleLine } from '../core/hostile-text.js';
import { readGivenCandidates } from '../io/saved-runs/given-candidates.js';
import { type CandidateGrade, countLabels, type GradeBook, type Graded } from '../grading/grade-candidates.js';
import { type HiddenTests, hiddenTests, readAnswers, type SealedRows } from '../grading/hidden-tests.js';
import { testCommand } from '../grading/test-command.js';
import { withInterval } from '../reports/figures.js';
import { type GradedInstance, GradeFiles, gradesOfSet, gradeSummary } from '../reports/grades.js';
import { type Skipped, withoutCandidates } from '../reports/set-files.js';
import { CurveTable } from '../statistics/intervals/curve-table.js';
import { type App, type OpenApp, seconds } from './command.js';
import { printJson, printNote, printProgress, printText } from './output.js';
import { givenIssues, type IssueOptions, parallelOption, withIssueOptions } from './run-options.js';
import { untilInterrupted } from './stopping.js';

interface GradeOptions extends IssueOptions {
  readonly candidates: string;
  readonly hiddenTests?: string;
  readonly out: string;
  readonly timeLimitS: number;
  readonly testCommand?: string;
  readonly runScripts?: string;
  readonly again?: true;
  readonly parallel: number;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk grade --issue issue.json --candidates candidates.jsonl --hidden-tests hidden-tests.jsonl --out graded/
  $ bestk grade --issue SWE-bench_Verified/ --candidates out/ --time-limit-s 1800 --out graded/

Hidden tests are rows of any known data set (bestk datasets show), as SWE-bench's instance_id, test_patch, FAIL_TO_PASS and
PASS_TO_PASS. A patch is right when all of them pass within the time limit: 300 s of CPU time (as in R2E-Gym; SWE-bench's own
harness gives 1800 s), and four times as long by the clock. The folder gets labels.jsonl, and grades.jsonl with the reason and the status of every test. Of many issues
those are graded that have candidates; skipped.jsonl names the others.

A label is true, false, or null (unknown) with a reason: if the log of gold (or base) does not name the listed tests either, no patch of
the issue gets a label, and skipped.jsonl says why.

Exit: 0 every candidate has a label, 2 bad input or issues whose tests cannot be used (skipped.jsonl), 3 Docker is not available
or some candidate has no label (the same command tries again), 130 interrupted (the same command resumes).`;

/** `bestk grade`: the outcome reward of given candidates, from hidden tests. */
export function registerGrade(program: Command, openApp: OpenApp): void {
  const command = program
    .command('grade')
    .description('run FAIL_TO_PASS and PASS_TO_PASS on every candidate of one or many issues and write labels');
  withIssueOptions(command)
    .requiredOption('--candidates <path>', 'candidates.jsonl, SWE-bench predictions, or the --out of select or solve')
    .option('--hidden-tests <path>', "rows with the hidden tests, of any known data set, instead of --issue's own")
    .requiredOption('--out <dir>', 'folder for labels.jsonl and grades.jsonl')
    .option(
      '--time-limit-s <seconds>',
      'CPU time of one run of the tests; four times as long by the clock',
      seconds,
      300,
    )
    .option('--test-command <command>', "instead of the repository's own; {files}, {modules} are those of test_patch")
    .option('--run-scripts <dir>', "run_scripts/ of SWE-bench Pro's repository, for its rows")
    .option('--again', 'grade anew, ignoring earlier grades in --out')
    .addOption(parallelOption())
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: GradeOptions) => {
      process.exitCode = await grade(options, openApp);
    });
}

async function grade(options: GradeOptions, openApp: OpenApp): Promise<number> {
  const { gradable, skipped } = await readGradable(options);
  const files = await GradeFiles.open(options.out, options.again === true);
  const { parallel, testCommand: command = null, timeLimitS } = options;
  const isSet = gradable.length + skipped.length > 1;
  const set = await gradeSet(await openApp(), gradable, { parallel, command, timeLimitS, isSet, book: files });
  await files.close(set, skipped);
  const [only] = set;
  if (options.json !== true) printText(gradeSummary(set, options.out, skipped));
  else if (isSet || only === undefined) printJson({ ...gradesOfSet(set), skipped: skipped.length, out: options.out });
  else printJson({ ...documentOf(only), out: options.out });
  return exitOf(set, skipped);
}

function exitOf(set: readonly GradedInstance[], skipped: readonly Skipped[]): number {
  const hasFailed = ({ graded: { grades, ungraded, unreadable } }: GradedInstance): boolean =>
    ungraded.length > 0 || (unreadable === null && countLabels(grades).unknown > 0);
  if (set.some(hasFailed)) return EXIT.unavailable;
  const isUnusable = set.some(({ graded }) => graded.unreadable !== null);
  return isUnusable || skipped.some(({ code }) => code === 'bad-input') ? EXIT.badInput : EXIT.done;
}

/**
 * @returns what can be graded, and the issues without candidates or with tests that cannot be used
 * @throws BadInputError when nothing can be graded, or the tests of the only issue cannot be used
 */
async function readGradable(
  options: GradeOptions,
): Promise<{ readonly gradable: readonly Gradable[]; readonly skipped: readonly Skipped[] }> {
  const issues = await givenIssues(options);
  const ids = issues.map(({ instance_id }) => instance_id);
  const candidates = await readGivenCandidates(options.candidates, ids, printNote);
  const file = options.hiddenTests ?? options.issue;
  const problems = new Map<string, BadInputError>();
  const wanted = new Set(ids.filter((id) => candidates.has(id)));
  const answers = await readAnswers(file, wanted, (id, error) => problems.set(id, error));
  const gradable: Gradable[] = [];
  for (const issue of issues) {
    const { instance_id } = issue;
    const own = candidates.get(instance_id);
    if (own === undefined || problems.has(instance_id)) continue;
    try {
      gradable.push({ issue, candidates: own, tests: await usableTests(answers, instance_id, options) });
    } catch (error) {
      if (!(error instanceof BadInputError)) throw error;
      problems.set(instance_id, error);
    }
  }
  const [first] = problems.values();
  if (first !== undefined && gradable.length === 0) throw first;
  const unusable = [...problems].map(([instance_id, { message, next }]) => {
    return { instance_id, reason: `${message} ${next}`, code: 'bad-input' };
  });
  return { gradable, skipped: [...ids.filter((id) => !candidates.has(id)).map(withoutCandidates), ...unusable] };
}

/** @throws BadInputError if there are none, or no command to run them */
async function usableTests(
  answers: SealedRows,
  instanceId: string,
  { issue, hiddenTests: file = issue, runScripts, testCommand: own }: GradeOptions,
): Promise<HiddenTests> {
  const tests = await hiddenTests(answers, instanceId, runScripts);
  if (tests === null) {
    const next = 'Name rows that have them with --hidden-tests.';
    throw new BadInputError(`has no hidden tests for instance "${instanceId}".`, { file }, next);
  }
  testCommand(tests, own ?? null);
  return tests;
}

function documentOf({ instance_id, graded }: GradedInstance): Record<string, unknown> {
  const { grades, ungraded, leftOut, unreadable, goldProblem }: Graded = graded;
  return {
    instance_id,
    ...countLabels(grades),
    grades: grades.map(({ candidate_id, resolved, reason, seconds: took }) => ({
      ...{ candidate_id, resolved, reason },
      seconds: took,
    })),
    ungraded,
    left_out: leftOut,
    unreadable,
    gold_problem: goldProblem,
  };
}

interface GradingOptions extends HowToGrade {
  readonly parallel: number;
  /** Whether several issues were asked for; absent = by the number that can be graded. */
  readonly isSet?: boolean;
  readonly book: GradeBook;
}

/**
 * Grades the candidates of some issues and closes the application. With several issues, a failure to grade one leaves its
 * candidates without labels, and the others are graded.
 * @throws InterruptedError; with one issue, the cause of its failure
 */
export function gradeSet(
  app: App,
  gradable: readonly Gradable[],
  options: GradingOptions,
): Promise<readonly GradedInstance[]> {
  return untilInterrupted(app, (signal) => {
    const limit = pLimit(options.parallel);
    const { isSet = gradable.length > 1 } = options;
    if (!isSet) return Promise.all(gradable.map((each) => gradeOne({ app, options }, each, signal)));
    const shares = new CurveTable(1);
    let ended = 0;
    const one = async (each: Gradable): Promise<GradedInstance> => {
      const { instance_id } = each.issue;
      const graded = await gradeOneOfMany(app.sandbox, each, options, signal);
      ended += 1;
      const { graded: labelled, resolved: right, unknown } = countLabels(graded.grades);
      if (labelled > 0) shares.add({ instanceId: instance_id, repo: '' }, Float64Array.of(right / labelled));
      const unlabelled = graded.ungraded.length + unknown;
      const without = unlabelled === 0 ? '' : `, ${unlabelled} without a label`;
      const said = `${right} of ${labelled} resolve the issue${without}`;
      // The mean share of right candidates per issue.
      const passAt1 = shares.issues < 2 ? '' : `; Pass@1 ${withInterval(shares.resampled(0, 0).rate(0))}`;
      const far = `${ended} of ${gradable.length} issues graded${passAt1}`;
      printProgress(`${visibleLine(instance_id)}: ${said} (${far})`);
      return { instance_id, graded };
    };
    return Promise.all(gradable.map((each) => limit(() => one(each))));
  });
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
  const label = resolved === null ? 'unknown' : resolved ? 'resolved' : 'not resolved';
  return visibleLine(`${candidate_id}: ${label}, ${reason} (${seconds} s)`);
}
