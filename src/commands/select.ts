import type { Command } from 'commander';
import { contentKey } from '../core/fingerprint.js';
import { BadInputError, EXIT } from '../core/errors.js';
import { RunRequest } from '../core/run-request.js';
import { readCandidates } from '../formats/read-candidates.js';
import { readIssue } from '../formats/read-issue.js';
import { readTests } from '../formats/read-tests.js';
import { findPreset } from '../../verifiers/hybrid/presets.js';
import { printJson, printText } from './answer.js';
import type { OpenApp } from './app.js';
import { runToEnd } from './run-to-end.js';

interface SelectOptions {
  readonly issue: string;
  readonly candidates: string;
  readonly out: string;
  readonly tests?: string;
  readonly labels?: string;
  readonly image?: string;
  readonly instance?: string;
  readonly verifiers?: string;
  readonly preset: string;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk select --issue issue.json --candidates candidates.jsonl --tests tests.jsonl --out out/
  $ bestk select --issue rows.jsonl --instance sympy__sympy-24066 --image my/sympy:1.11 \\
      --candidates preds.json --verifiers eb --out out/

Exit: 0 a patch was selected, 2 bad input, 3 Docker or the model is not available, 4 no patch is worth returning,
130 interrupted (the same command goes on where it stopped).`;

/** `bestk select`: verify and select given candidates of one instance. */
export function registerSelect(program: Command, openApp: OpenApp): void {
  program
    .command('select')
    .description('verify K candidate patches of one issue and select the best')
    .requiredOption('--issue <file>', 'the issue: JSON, or JSONL with --instance; a SWE-bench row with --image')
    .requiredOption('--candidates <file>', 'candidates.jsonl or SWE-bench predictions')
    .requiredOption('--out <dir>', 'folder for the report')
    .option('--tests <file>', 'saved generated tests, instead of none')
    .option('--labels <file>', 'labels, read after the selection and shown beside it')
    .option('--image <name>', 'container image of the instance, when the issue names none')
    .option('--instance <id>', 'which instance, when a file holds several')
    .option('--verifiers <list>', 'ef (execution-free), eb (execution-based), or both: ef,eb')
    .option('--preset <name>', 'how the verdicts are combined', 'deepswe')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: SelectOptions) => {
      process.exitCode = await select(options, openApp);
    });
}

async function select(options: SelectOptions, openApp: OpenApp): Promise<number> {
  const request = await readRequest(options);
  const { prepareFolder, writeRun } = await import('../reports/write-run.js');
  await prepareFolder(options.out);
  const finished = await runToEnd(await openApp(), `select:${contentKey(request)}`, request);
  await writeRun(options.out, finished);
  const { result } = finished;
  if (options.json === true)
    printJson({ ...result.selection, statistics: result.statistics, usage: result.usage, out: options.out });
  else await printSummary(options, finished.result);
  return result.selection.candidate_id === null ? EXIT.noPatch : EXIT.done;
}

async function printSummary(
  options: SelectOptions,
  result: Parameters<typeof import('../reports/select-summary.js').selectSummary>[0],
): Promise<void> {
  const { selectSummary } = await import('../reports/select-summary.js');
  const { readLabels } = await import('../reports/read-labels.js');
  const labels = options.labels === undefined ? null : await readLabels(options.labels, result.selection.instance_id);
  printText(selectSummary(result, labels, options.out));
}

async function readRequest(options: SelectOptions): Promise<RunRequest> {
  findPreset(options.preset);
  const issue = await readIssue(options.issue, { image: options.image, instanceId: options.instance });
  const candidates = await readCandidates(options.candidates, issue.instance_id);
  const tests = options.tests === undefined ? [] : await readTests(options.tests, issue.instance_id);
  const verifiers = options.verifiers?.split(',').map((name) => name.trim());
  const parsed = RunRequest.safeParse({ issue, candidates, tests, verifiers, preset: options.preset });
  if (parsed.success) return parsed.data;
  const problem = parsed.error.issues[0];
  throw new BadInputError(problem?.message ?? 'is not a valid request', { field: problem?.path.join('.') ?? '' });
}
