import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { EXIT } from '../core/errors/errors.js';
import type { Candidate } from '../core/run/candidate.js';
import { readCandidates } from '../io/inputs/candidates.js';
import { readIssue } from '../io/datasets/issues.js';
import { gradeCandidates, type CandidateGrade, type Graded, type GradeBook } from '../grading/grade-candidates.js';
import type { Bench } from '../grading/grade.js';
import { readHiddenTests, withScripts } from '../grading/hidden-tests.js';
import { testCommand } from '../grading/test-command.js';
import { gradeSummary } from '../reports/grade-files.js';
import { GradeFiles } from '../reports/grade-files.js';
import { printJson, printProgress, printText } from './answer.js';
import type { OpenApp } from './app.js';
import { seconds } from './options.js';
import { untilInterrupted } from './run-to-end.js';
import { visibleLine } from '../core/visible.js';

interface GradeOptions {
  readonly issue: string;
  readonly candidates: string;
  readonly hiddenTests: string;
  readonly out: string;
  readonly timeLimitS: number;
  readonly testCommand?: string;
  readonly runScripts?: string;
  readonly image?: string;
  readonly instance?: string;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk grade --issue issue.json --candidates candidates.jsonl --hidden-tests hidden-tests.jsonl --out graded/
  $ bestk grade --issue rows.jsonl --instance sympy__sympy-24066 --image my/sympy:1.11 \\
      --candidates preds.json --hidden-tests rows.jsonl --time-limit-s 1800 --out graded/

Hidden tests are rows of any known data set (bestk datasets show), as SWE-bench's instance_id, test_patch, FAIL_TO_PASS and
PASS_TO_PASS. A patch is right when all of them pass within the time limit (300 s as in R2E-Gym; SWE-bench's own harness
gives 1800 s). The folder gets labels.jsonl, and grades.jsonl with the reason and the status of every test.

Exit: 0 every candidate has a label, 2 bad input, 3 Docker is not available or some candidate has no label,
130 interrupted (the same command goes on where it stopped).`;

/** `bestk grade`: the outcome reward of given candidates, from tests that nothing else may see. */
export function registerGrade(program: Command, openApp: OpenApp): void {
  program
    .command('grade')
    .description('run FAIL_TO_PASS and PASS_TO_PASS on every candidate and write labels')
    .requiredOption('--issue <file>', 'the issue: JSON, or JSONL with --instance; a SWE-bench row with --image')
    .requiredOption('--candidates <file>', 'candidates.jsonl or SWE-bench predictions')
    .requiredOption('--hidden-tests <file>', 'rows with test_patch, FAIL_TO_PASS and PASS_TO_PASS')
    .requiredOption('--out <dir>', 'folder for labels.jsonl and grades.jsonl')
    .option('--time-limit-s <seconds>', 'limit of one run of the tests', seconds, 300)
    .option('--test-command <command>', "instead of the repository's own; {files}, {modules} are those of test_patch")
    .option('--run-scripts <dir>', "run_scripts/ of SWE-bench Pro's repository, for its rows")
    .option('--image <name>', 'container image of the instance, when the issue names none')
    .option('--instance <id>', 'which instance, when a file holds several')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: GradeOptions) => {
      process.exitCode = await grade(options, openApp);
    });
}

async function grade(options: GradeOptions, openApp: OpenApp): Promise<number> {
  const issue = await readIssue(options.issue, { image: options.image, instanceId: options.instance });
  const candidates = await readCandidates(options.candidates, issue.instance_id);
  const found = await readHiddenTests(options.hiddenTests, issue.instance_id);
  const { runScripts } = options;
  const tests = runScripts === undefined ? found : await withScripts(found, runScripts, issue.instance_id);
  const command = testCommand(tests, options.testCommand ?? null);
  const files = await GradeFiles.open(options.out);
  const app = await openApp();
  const graded = await untilInterrupted(app, async (signal) => {
    const { id: imageId } = await app.sandbox.describeImage(issue.environment.image, signal);
    const { sandbox } = app;
    const bench = { sandbox, imageId, issue, tests, command, timeLimitS: options.timeLimitS, pause };
    return gradeAll(bench, candidates, files, signal);
  });
  await files.close(graded);
  if (options.json === true) printJson(documentOf(issue.instance_id, graded, options.out));
  else printText(gradeSummary(graded, options.out));
  return graded.ungraded.length === 0 ? EXIT.done : EXIT.unavailable;
}

function gradeAll(
  bench: Bench,
  candidates: readonly Candidate[],
  files: GradeFiles,
  signal: AbortSignal,
): Promise<Graded> {
  const book: GradeBook = {
    known: (key) => files.known(key),
    enter: async (entry) => {
      await files.enter(entry);
      printProgress(progressLine(entry));
    },
  };
  return gradeCandidates(bench, candidates, book, signal);
}

function documentOf(instance_id: string, { grades, ungraded, leftOut }: Graded, out: string): Record<string, unknown> {
  return {
    instance_id,
    graded: grades.length,
    resolved: grades.filter(({ resolved }) => resolved).length,
    grades: grades.map(({ candidate_id, resolved, reason, seconds }) => ({ candidate_id, resolved, reason, seconds })),
    ungraded,
    left_out: leftOut,
    out,
  };
}

function progressLine({ candidate_id, resolved, reason, seconds }: CandidateGrade): string {
  return visibleLine(`${candidate_id}: ${resolved ? 'resolved' : 'not resolved'}, ${reason} (${seconds} s)`);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}
