import type { Command } from 'commander';
import pLimit from 'p-limit';
import { type Gradable, gradeIssue, gradeOneOfMany, type HowToGrade } from '../benchmarks/grade-arms.js';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import { visibleLine } from '../core/hostile-text.js';
import { readAllCandidates } from '../io/inputs/candidates.js';
import { type CandidateGrade, countLabels, type GradeBook, type Graded } from '../grading/grade-candidates.js';
import { hiddenTests, readAnswers } from '../grading/hidden-tests.js';
import { testCommand } from '../grading/test-command.js';
import { withInterval } from '../reports/figures.js';
import { type GradedInstance, GradeFiles, gradesOfSet, gradeSummary } from '../reports/grades.js';
import { type Skipped, withoutCandidates } from '../reports/set-files.js';
import { CurveTable } from '../statistics/intervals/curve-table.js';
import { type App, type OpenApp, seconds } from './command.js';
import { printJson, printProgress, printText } from './output.js';
import { givenIssues, type IssueOptions, parallelOption, withIssueOptions } from './run-options.js';
import { untilInterrupted } from './stopping.js';

interface GradeOptions extends IssueOptions {
  readonly candidates: string;
  readonly hiddenTests?: string;
  readonly out: string;
  readonly timeLimitS: number;
  readonly testCommand?: string;
  readonly runScripts?: string;
  readonly parallel: number;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk grade --issue issue.json --candidates candidates.jsonl --hidden-tests hidden-tests.jsonl --out graded/
  $ bestk grade --issue SWE-bench_Verified/ --candidates out/ --time-limit-s 1800 --out graded/

Hidden tests are rows of any known data set (bestk datasets show), as SWE-bench's instance_id, test_patch, FAIL_TO_PASS and
PASS_TO_PASS. A patch is right when all of them pass within the time limit (300 s as in R2E-Gym; SWE-bench's own harness
gives 1800 s). The folder gets labels.jsonl, and grades.jsonl with the reason and the status of every test. Of many issues
those are graded that have candidates; skipped.jsonl names the others.

Exit: 0 every candidate has a label, 2 bad input, 3 Docker is not available or some candidate has no label,
130 interrupted (the same command resumes).`;

/** `bestk grade`: the outcome reward of given candidates, from hidden tests. */
export function registerGrade(program: Command, openApp: OpenApp): void {
  const command = program
    .command('grade')
    .description('run FAIL_TO_PASS and PASS_TO_PASS on every candidate of one or many issues and write labels');
  withIssueOptions(command)
    .requiredOption('--candidates <path>', 'candidates.jsonl, SWE-bench predictions, or the --out of select or solve')
    .option('--hidden-tests <path>', "rows with the hidden tests, of any known data set, instead of --issue's own")
    .requiredOption('--out <dir>', 'folder for labels.jsonl and grades.jsonl')
    .option('--time-limit-s <seconds>', 'limit of one run of the tests', seconds, 300)
    .option('--test-command <command>', "instead of the repository's own; {files}, {modules} are those of test_patch")
    .option('--run-scripts <dir>', "run_scripts/ of SWE-bench Pro's repository, for its rows")
    .addOption(parallelOption())
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: GradeOptions) => {
      process.exitCode = await grade(options, openApp);
    });
}

async function grade(options: GradeOptions, openApp: OpenApp): Promise<number> {
  const { gradable, without } = await readGradable(options);
  const files = await GradeFiles.open(options.out);
  const { parallel, testCommand: command = null, timeLimitS } = options;
  const isSet = gradable.length + without.length > 1;
  const set = await gradeSet(await openApp(), gradable, { parallel, command, timeLimitS, isSet, book: files });
  await files.close(set, without);
  const [only] = set;
  if (options.json !== true) printText(gradeSummary(set, options.out, without.length));
  else if (isSet || only === undefined) printJson({ ...gradesOfSet(set), skipped: without.length, out: options.out });
  else printJson({ ...documentOf(only), out: options.out });
  return set.every(({ graded }) => graded.ungraded.length === 0) ? EXIT.done : EXIT.unavailable;
}

/**
 * @returns what can be graded, and the issues without candidates
 * @throws BadInputError when nothing can be graded, or the tests of an issue cannot be read
 */
async function readGradable(
  options: GradeOptions,
): Promise<{ readonly gradable: readonly Gradable[]; readonly without: readonly Skipped[] }> {
  const issues = await givenIssues(options);
  const ids = issues.map(({ instance_id }) => instance_id);
  const candidates = await readAllCandidates(options.candidates, ids);
  const file = options.hiddenTests ?? options.issue;
  const answers = await readAnswers(file, new Set(ids));
  const gradable: Gradable[] = [];
  for (const issue of issues) {
    const { instance_id } = issue;
    const own = candidates.get(instance_id);
    if (own === undefined) continue;
    const tests = await hiddenTests(answers, instance_id, options.runScripts);
    if (tests === null) {
      const next = 'Name rows that have them with --hidden-tests.';
      throw new BadInputError(`has no hidden tests for instance "${instance_id}".`, { file }, next);
    }
    gradable.push({ issue, candidates: own, tests });
  }
  // Reports a wrong command before anything runs.
  for (const { tests } of gradable) testCommand(tests, options.testCommand ?? null);
  return { gradable, without: ids.filter((id) => !candidates.has(id)).map(withoutCandidates) };
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
