import type { Command } from 'commander';
import { contentKey } from '../core/fingerprint.js';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import { RunRequest } from '../core/run/run-request.js';
import { readCandidates } from '../io/inputs/candidates.js';
import { readIssue } from '../io/datasets/issues.js';
import { readTests } from '../io/inputs/candidates.js';
import { findPreset } from '../../verifiers/hybrid/presets.js';
import { readLabels } from '../reports/labels.js';
import { selectSummary } from '../reports/selection-table.js';
import type { Labels } from '../reports/selection-table.js';
import { prepareFolder, writeRun } from '../reports/write-run.js';
import { printJson, printText } from './answer.js';
import type { OpenApp } from './app.js';
import { type RunOptions, withRunOptions } from './run-options.js';
import { runToEnd } from './run-to-end.js';

interface SelectOptions extends RunOptions {
  readonly issue: string;
  readonly candidates: string;
  readonly out: string;
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
  const command = program
    .command('select')
    .description('verify K candidate patches of one issue and select the best')
    .requiredOption('--issue <file>', 'the issue: JSON, or JSONL with --instance; a SWE-bench row with --image')
    .requiredOption('--candidates <file>', 'candidates.jsonl or SWE-bench predictions')
    .requiredOption('--out <dir>', 'folder for the report');
  withRunOptions(command)
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: SelectOptions) => {
      process.exitCode = await select(options, openApp);
    });
}

async function select(options: SelectOptions, openApp: OpenApp): Promise<number> {
  const request = await readRequest(options);
  await prepareFolder(options.out);
  const labels = await readLabelsOf(options, request.issue.instance_id);
  const finished = await runToEnd(await openApp(), `select:${contentKey(request)}`, request);
  await writeRun(options.out, finished);
  const { result } = finished;
  if (options.json === true)
    printJson({ ...result.selection, statistics: result.statistics, usage: result.usage, out: options.out });
  else printText(selectSummary(result, labels, options.out));
  return result.selection.candidate_id === null ? EXIT.noPatch : EXIT.done;
}

/** Read before the work, so that a wrong file is told at once; used after it, and only to be shown. */
async function readLabelsOf({ labels }: SelectOptions, instanceId: string): Promise<Labels | null> {
  return labels === undefined ? null : readLabels(labels, instanceId);
}

async function readRequest(options: SelectOptions): Promise<RunRequest> {
  findPreset(options.preset);
  const issue = await readIssue(options.issue, { image: options.image, instanceId: options.instance });
  const candidates = await readCandidates(options.candidates, issue.instance_id);
  const tests = options.tests === undefined ? null : await readTests(options.tests, issue.instance_id);
  const verifiers = options.verifiers?.split(',').map((name) => name.trim());
  const parsed = RunRequest.safeParse({ issue, candidates, tests, verifiers, preset: options.preset });
  if (parsed.success) return parsed.data;
  const problem = parsed.error.issues[0];
  throw new BadInputError(problem?.message ?? 'is not a valid request', { field: problem?.path.join('.') ?? '' });
}
