import type { Command } from 'commander';
import type { Gradable } from '../benchmarks/grade-arms.js';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import { readAllCandidates } from '../io/inputs/candidates.js';
import type { Graded } from '../grading/grade-candidates.js';
import { hiddenTests, readAnswers } from '../grading/hidden-tests.js';
import { testCommand } from '../grading/test-command.js';
import { GradeFiles, gradeSummary, type GradedInstance, gradesOfSet } from '../reports/grade-files.js';
import { printJson, printText } from './answer.js';
import type { OpenApp } from './app.js';
import { gradeSet } from './grade-set.js';
import { seconds } from './options.js';
import { givenIssues, type IssueOptions, parallelOption, withIssueOptions } from './run-options.js';

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
those are graded that have candidates.

Exit: 0 every candidate has a label, 2 bad input, 3 Docker is not available or some candidate has no label,
130 interrupted (the same command goes on where it stopped).`;

/** `bestk grade`: the outcome reward of given candidates, from tests that nothing else may see. */
export function registerGrade(program: Command, openApp: OpenApp): void {
  const command = program
    .command('grade')
    .description(
      'run FAIL_TO_PASS and PASS_TO_PASS on every candidate of an issue, or of each of many, and write labels',
    );
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
  const gradable = await readGradable(options);
  const files = await GradeFiles.open(options.out);
  const { parallel, testCommand: command = null, timeLimitS } = options;
  const set = await gradeSet(await openApp(), gradable, { parallel, command, timeLimitS, book: files });
  await files.close(set);
  const [only, ...others] = set;
  const isOne = only !== undefined && others.length === 0;
  if (options.json === true) printJson({ ...(isOne ? documentOf(only) : gradesOfSet(set)), out: options.out });
  else printText(gradeSummary(set, options.out));
  return set.every(({ graded }) => graded.ungraded.length === 0) ? EXIT.done : EXIT.unavailable;
}

/** @throws BadInputError when nothing can be graded, or the tests of an issue cannot be read */
async function readGradable(options: GradeOptions): Promise<readonly Gradable[]> {
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
      throw new BadInputError(`holds no hidden tests of instance "${instance_id}".`, { file }, next);
    }
    gradable.push({ issue, candidates: own, tests });
  }
  // A wrong command is told before anything is run.
  for (const { tests } of gradable) testCommand(tests, options.testCommand ?? null);
  return gradable;
}

function documentOf({ instance_id, graded }: GradedInstance): Record<string, unknown> {
  const { grades, ungraded, leftOut }: Graded = graded;
  return {
    instance_id,
    graded: grades.length,
    resolved: grades.filter(({ resolved }) => resolved).length,
    grades: grades.map(({ candidate_id, resolved, reason, seconds: took }) => ({
      ...{ candidate_id, resolved, reason },
      seconds: took,
    })),
    ungraded,
    left_out: leftOut,
  };
}
