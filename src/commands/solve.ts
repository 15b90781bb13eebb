import type { Command } from 'commander';
import { BadInputError } from '../core/errors/errors.js';
import { type RunRequest, runRequest } from '../core/run/run-request.js';
import { prepareFolder } from '../reports/write-run.js';
import { collected, count, type OpenApp, outFolder, positive, probability, wholeNumber } from './command.js';
import { tellEstimate } from './output.js';
import { placedAgents, readAgents } from '../io/inputs/yaml.js';
import {
  estimateOption,
  givenIssues,
  givenTests,
  readRule,
  type RunOptions,
  verifierNames,
  withRunOptions,
} from './run-options.js';
import { runRequests } from './run-set.js';

interface SolveOptions extends RunOptions {
  readonly k: number;
  readonly k0?: number;
  readonly refine: number;
  readonly branch: number;
  readonly refineFrom: number;
  readonly seed: number;
  readonly agents?: string;
  readonly agent: readonly string[];
  readonly agentCommand?: string;
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
  $ bestk solve --issue issue.json -k 12 --agents agents.yaml --out out/
  $ bestk solve --issue SWE-bench_Verified/ -k 8 --parallel 8 --out out/

OPENAI_BASE_URL and BESTK_AGENT_MODEL name the agent's model, BESTK_VERIFIER_MODEL the judge's. The folder
also gets candidates.jsonl (all of them), trajectories.jsonl (R2E-Gym) and predictions.jsonl (SWE-bench: the selected
patch). With several issues, each has a subfolder next to the combined files, and budgets apply to each issue.

Exit: 0 a patch was selected (several issues: all are done), 2 bad input, 3 Docker or the model is not available, 4 no
patch is worth returning (several issues: of none), 130 interrupted (the same command resumes and repeats no model call).`;

/** `bestk solve`: samples K trajectories per issue, verifies them and selects the best. */
export function registerSolve(program: Command, openApp: OpenApp): void {
  const command = program
    .command('solve')
    .description('sample K trajectories of one or many issues with an agent in containers and select the best')
    .option('--out <dir>', 'folder for the report; not with --estimate')
    .option('-k, --k <number>', 'number of trajectories', count, 8)
    .option('--k0 <number>', 'sample this many first, then more only while they disagree', count)
    .option(
      '--refine <number>',
      'sample this many more, with agents that see the best of the first wave',
      wholeNumber,
      0,
    )
    .option('--branch <number>', 'sample this many more, from a step of the best of the first wave', wholeNumber, 0)
    .option('--refine-from <p>', 'second wave only if the best P(right) of the first reaches this', probability, 0.3)
    .option('--seed <number>', 'seed of the sampling', wholeNumber, 0)
    .option('--agents <file>', 'agents that share the trajectories, instead of only BESTK_AGENT_MODEL')
    .option('--agent <name>', 'agent of that file to use; repeatable; all by default', collected, [])
    .option(
      '--agent-command <command>',
      'command in the image to run as the agent; it reaches the model at OPENAI_BASE_URL',
    );
  withRunOptions(command)
    .option('--budget-tokens <number>', 'token limit for agent and judge together', count)
    .option('--budget-usd <number>', 'limit in US dollars, priced by BESTK_PRICES', positive)
    .option('--budget-seconds <number>', 'wall time limit in seconds', positive)
    .addOption(estimateOption())
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: SolveOptions) => {
      process.exitCode = await solve(options, openApp);
    });
}

async function solve(options: SolveOptions, openApp: OpenApp): Promise<number> {
  const { agents, settings } = await givenAgents(options);
  const requests = await readRequests(options, agents);
  const open: OpenApp = () => openApp(settings);
  if (options.estimate === true) return tellEstimate(await open(), requests, options.json === true);
  const out = outFolder(options);
  await prepareFolder(out);
  return runRequests(open, requests, { ...options, out, command: 'solve' });
}

async function givenAgents({ agents: file, agent: names, agentCommand }: SolveOptions) {
  if (file !== undefined && agentCommand !== undefined) {
    const next = 'Write the command in the file, as `command` of an agent.';
    throw new BadInputError('cannot be combined with --agents.', { field: '--agent-command' }, next);
  }
  if (file !== undefined) return placedAgents(await readAgents(file, names));
  if (names.length === 0) return { agents: undefined, settings: {} };
  throw new BadInputError('only works with --agents.', { field: '--agent' }, 'Name the file with --agents.');
}

async function readRequests(
  options: SolveOptions,
  agents: readonly object[] | undefined,
): Promise<readonly RunRequest[]> {
  const rule = await readRule(options);
  const issues = await givenIssues(options);
  const tests = await givenTests(
    options.tests,
    issues.map(({ instance_id }) => instance_id),
  );
  const { k, k0, refine, branch, refineFrom: refine_from, seed } = options;
  const budget = { tokens: options.budgetTokens, usd: options.budgetUsd, seconds: options.budgetSeconds };
  return issues.map((issue) => {
    return runRequest({
      issue,
      k,
      k0,
      refine,
      branch,
      refine_from,
      seed,
      agents,
      agent: options.agentCommand === undefined ? undefined : { command: options.agentCommand },
      tests: tests(issue.instance_id),
      ...rule,
      verifiers: verifierNames(options),
      budget,
    });
  });
}
