import type { Command } from 'commander';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import { contentKey } from '../core/fingerprint.js';
import { RunRequest } from '../core/run/run-request.js';
import { readIssue } from '../io/datasets/issues.js';
import { readTests } from '../io/inputs/candidates.js';
import { checkRequest } from '../runs/check-request.js';
import { estimate } from '../runs/check-request.js';
import { readLabels } from '../reports/labels.js';
import { selectSummary } from '../reports/selection-table.js';
import { prepareFolder, writeRun } from '../reports/write-run.js';
import { printJson, printText } from './answer.js';
import type { App, OpenApp } from './app.js';
import { count, positive, wholeNumber } from './options.js';
import { estimateLine } from './progress.js';
import { type RunOptions, withRunOptions } from './run-options.js';
import { runToEnd } from './run-to-end.js';

interface SolveOptions extends RunOptions {
  readonly issue: string;
  readonly k: number;
  readonly k0?: number;
  readonly seed: number;
  readonly out?: string;
  readonly budgetTokens?: number;
  readonly budgetUsd?: number;
  readonly budgetSeconds?: number;
  readonly estimate?: true;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk solve --issue issue.json -k 8 --out out/
  $ bestk solve --issue rows.jsonl --instance sympy__sympy-24066 --image my/sympy:1.11 \\
      -k 16 --k0 4 --budget-tokens 20000000 --out out/

OPENAI_BASE_URL and BESTK_AGENT_MODEL name the agent's model, BESTK_VERIFIER_MODEL the judge's. The folder
also gets candidates.jsonl, trajectories.jsonl (R2E-Gym) and predictions.jsonl (SWE-bench).

Exit: 0 a patch was selected, 2 bad input, 3 Docker or the model is not available, 4 no patch is worth returning,
130 interrupted (the same command goes on where it stopped, and asks no model twice).`;

/** `bestk solve`: sample K trajectories of one instance, verify and select. */
export function registerSolve(program: Command, openApp: OpenApp): void {
  const command = program
    .command('solve')
    .description('sample K trajectories of an issue with an agent in containers, verify them, and select the best')
    .requiredOption('--issue <file>', 'the issue: JSON, or JSONL with --instance; a SWE-bench row with --image')
    .option('--out <dir>', 'folder for the report; not for an estimate')
    .option('-k <number>', 'how many trajectories', count, 8)
    .option('--k0 <number>', 'sample this many first, and more only while they disagree', count)
    .option('--seed <number>', 'another number samples other trajectories', wholeNumber, 0);
  withRunOptions(command)
    .option('--budget-tokens <number>', 'tokens that agent and judge may use together', count)
    .option('--budget-usd <number>', 'US dollars, by the price table BESTK_PRICES', positive)
    .option('--budget-seconds <number>', 'wall seconds of the run', positive)
    .option('--estimate', 'say what trajectories and one judgement of each can come to at most, and do nothing')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: SolveOptions) => {
      process.exitCode = await solve(options, openApp);
    });
}

async function solve(options: SolveOptions, openApp: OpenApp): Promise<number> {
  const request = await readRequest(options);
  if (options.estimate === true) return tellEstimate(await openApp(), request, options.json === true);
  const { out } = options;
  if (out === undefined) throw new BadInputError('is missing: name a folder for the report.', { field: '--out' });
  await prepareFolder(out);
  const labels = options.labels === undefined ? null : await readLabels(options.labels, request.issue.instance_id);
  const finished = await runToEnd(await openApp(), `solve:${contentKey(request)}`, request);
  await writeRun(out, finished);
  const { selection, statistics, usage, sampling } = finished.result;
  if (options.json === true) printJson({ ...selection, statistics, sampling, usage, out });
  else printText(selectSummary(finished.result, labels, out));
  return selection.candidate_id === null ? EXIT.noPatch : EXIT.done;
}

async function tellEstimate(app: App, request: RunRequest, asJson: boolean): Promise<number> {
  try {
    const atMost = estimate(request, checkRequest(request, app.dependencies), app.dependencies);
    if (asJson) printJson({ at_most: atMost });
    else
      printText(
        `Trajectories and one judgement of each: ${estimateLine(atMost)}. Limit it with --budget-tokens, --budget-usd or --budget-seconds.`,
      );
    return EXIT.done;
  } finally {
    await app.close();
  }
}

async function readRequest(options: SolveOptions): Promise<RunRequest> {
  const issue = await readIssue(options.issue, { image: options.image, instanceId: options.instance });
  const tests = options.tests === undefined ? null : await readTests(options.tests, issue.instance_id);
  const { k, k0, seed, preset } = options;
  const parsed = RunRequest.safeParse({
    issue,
    k,
    k0,
    seed,
    tests,
    preset,
    verifiers: options.verifiers?.split(',').map((name) => name.trim()),
    budget: { tokens: options.budgetTokens, usd: options.budgetUsd, seconds: options.budgetSeconds },
  });
  if (parsed.success) return parsed.data;
  const [problem] = parsed.error.issues;
  throw new BadInputError(problem?.message ?? 'is not a valid request', { field: problem?.path.join('.') ?? '' });
}
