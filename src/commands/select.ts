import type { Command } from 'commander';
import { BadInputError } from '../core/errors/errors.js';
import type { Candidate } from '../core/run/candidate.js';
import type { Issue } from '../core/run/issue.js';
import { type RunRequest, runRequest } from '../core/run/run-request.js';
import { readAllCandidates } from '../io/inputs/candidates.js';
import { prepareFolder } from '../reports/write-run.js';
import type { OpenApp } from './app.js';
import { candidatesFrom, issueFrom, type RepositoryOptions, withRepositoryOptions } from './from-repository.js';
import { givenIssues, givenTests, readRule, type RunOptions, verifierNames, withRunOptions } from './run-options.js';
import { runRequests } from './run-set.js';

interface SelectOptions extends Omit<RunOptions, 'issue'>, RepositoryOptions {
  readonly issue?: string;
  readonly candidates?: string;
  readonly out: string;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk select --issue issue.json --candidates candidates.jsonl --tests tests.jsonl --out out/
  $ bestk select --statement issue.md --image shop:base --from-branches fix-a fix-b fix-c --out out/
  $ bestk select --issue SWE-bench_Verified/ --candidates preds.json --verifiers eb --out out/

Of many issues those are done that have candidates; the folder then has one for each, and beside them selections.jsonl,
predictions.jsonl (SWE-bench: the selected patches), candidates.jsonl and skipped.jsonl.

Exit: 0 a patch was selected (of many issues: all were done), 2 bad input, 3 Docker or the model is not available, 4 no
patch is worth returning, 130 interrupted (the same command goes on where it stopped).`;

/** `bestk select`: verify and select given candidates. */
export function registerSelect(program: Command, openApp: OpenApp): void {
  const command = program
    .command('select')
    .description('verify K candidate patches of an issue, or of each of many, and select the best');
  withRepositoryOptions(withRunOptions(command, false))
    .option('--candidates <path>', 'candidates.jsonl, SWE-bench predictions, or the --out of select or solve')
    .requiredOption('--out <dir>', 'folder for the report')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: SelectOptions) => {
      process.exitCode = await select(options, openApp);
    });
}

async function select(options: SelectOptions, openApp: OpenApp): Promise<number> {
  const requests = await readRequests(options);
  await prepareFolder(options.out);
  return runRequests(openApp, requests, { ...options, command: 'select' });
}

async function readRequests(options: SelectOptions): Promise<readonly RunRequest[]> {
  const rule = await readRule(options);
  const issues = await issuesOf(options);
  const ids = issues.map(({ instance_id }) => instance_id);
  const candidates = await candidatesOf(options, ids);
  const tests = await givenTests(options.tests, ids);
  return issues.flatMap((issue) => {
    const own = candidates.get(issue.instance_id);
    if (own === undefined) return [];
    const given = tests?.get(issue.instance_id) ?? null;
    return [runRequest({ issue, candidates: own, tests: given, verifiers: verifierNames(options), ...rule })];
  });
}

async function issuesOf({ issue, ...options }: SelectOptions): Promise<readonly Issue[]> {
  oneOf({ '--issue': issue, '--statement': options.statement });
  return issue === undefined ? [await issueFrom(options, options.image)] : givenIssues({ ...options, issue });
}

async function candidatesOf(
  options: SelectOptions,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Candidate[]>> {
  const { candidates, fromBranches, fromPatches } = options;
  oneOf({ '--candidates': candidates, '--from-branches': fromBranches, '--from-patches': fromPatches });
  if (candidates !== undefined) return readAllCandidates(candidates, ids);
  const [id = '', ...others] = ids;
  if (others.length > 0) throw new BadInputError('names many; branches and patches are for one.', { field: '--issue' });
  return new Map([[id, (await candidatesFrom(options, id)) ?? []]]);
}

/** @throws BadInputError unless one of these options was given */
function oneOf(options: Readonly<Record<string, unknown>>): void {
  const given = Object.values(options).filter((value) => value !== undefined);
  if (given.length !== 1) throw new BadInputError(`give one of ${Object.keys(options).join(', ')}.`, {});
}
