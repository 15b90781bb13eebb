import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { BadInputError, parsed } from '../core/errors/errors.js';
import { Candidate } from '../core/run/candidate.js';
import { Issue, repositoryOf } from '../core/run/issue.js';
import { type RunRequest, runRequest } from '../core/run/run-request.js';
import { imageOf, imageTemplates } from '../io/datasets/rows.js';
import { readGivenCandidates } from '../io/saved-runs/given-candidates.js';
import { readText } from '../io/records/records.js';
import { type Skipped, withoutCandidates } from '../reports/set-files.js';
import { prepareFolder } from '../reports/write-run.js';
import { type OpenApp, outFolder } from './command.js';
import { printNote, tellEstimate } from './output.js';
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

interface SelectOptions extends Omit<RunOptions, 'issue'>, RepositoryOptions {
  readonly issue?: string;
  readonly candidates?: string;
  readonly out?: string;
  readonly estimate?: true;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk select --issue issue.json --candidates candidates.jsonl --tests tests.jsonl --out out/
  $ bestk select --statement issue.md --image shop:base --from-branches fix-a fix-b fix-c --out out/
  $ bestk select --issue SWE-bench_Verified/ --candidates preds.json --verifiers eb --out out/

With a data set, issues without candidates are skipped; the folder gets a subfolder for each issue, selections.jsonl,
predictions.jsonl (SWE-bench: the selected patches), candidates.jsonl and skipped.jsonl.

Exit: 0 a patch was selected (several issues: all are done), 2 bad input, 3 Docker or the model is not available, 4 no
patch is worth returning (several issues: of none), 130 interrupted (the same command resumes).`;

/** `bestk select`: verify and select given candidates. */
export function registerSelect(program: Command, openApp: OpenApp): void {
  const command = program
    .command('select')
    .description('verify K candidate patches of one or many issues and select the best');
  withRepositoryOptions(withRunOptions(command, false, 'labels or harness reports'))
    .option('--candidates <path>', 'candidates.jsonl, SWE-bench predictions, or the --out of select or solve')
    .option('--out <dir>', 'folder for the report; not with --estimate')
    .addOption(estimateOption())
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: SelectOptions) => {
      process.exitCode = await select(options, openApp);
    });
}

async function select(options: SelectOptions, openApp: OpenApp): Promise<number> {
  const { requests, without } = await readRequests(options);
  if (options.estimate === true) return tellEstimate(await openApp(), requests, options.json === true);
  const out = outFolder(options);
  await prepareFolder(out);
  return runRequests(openApp, requests, { ...options, out, command: 'select', without });
}

/** @returns the requests, and the issues that have no candidates */
async function readRequests(
  options: SelectOptions,
): Promise<{ readonly requests: readonly RunRequest[]; readonly without: readonly Skipped[] }> {
  const rule = await readRule(options);
  const issues = await issuesOf(options);
  const ids = issues.map(({ instance_id }) => instance_id);
  const candidates = await candidatesOf(options, ids);
  const tests = await givenTests(options.tests, ids);
  const requests = issues.flatMap((issue) => {
    const { instance_id } = issue;
    const own = candidates.get(instance_id);
    if (own === undefined) return [];
    const given = { candidates: own, tests: tests(instance_id), verifiers: verifierNames(options) };
    return [runRequest({ issue, ...given, ...rule })];
  });
  return { requests, without: ids.filter((id) => !candidates.has(id)).map(withoutCandidates) };
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
  if (candidates !== undefined) return readGivenCandidates(candidates, ids, printNote);
  const [id = '', ...others] = ids;
  if (others.length > 0)
    throw new BadInputError('names several issues; --from-branches and --from-patches need exactly one.', {
      field: '--issue',
    });
  return new Map([[id, (await candidatesFrom(options, id)) ?? []]]);
}

/** @throws BadInputError unless one of these options was given */
function oneOf(options: Readonly<Record<string, unknown>>): void {
  const given = Object.values(options).filter((value) => value !== undefined);
  if (given.length !== 1) throw new BadInputError(`give one of ${Object.keys(options).join(', ')}.`, {});
}

const git = promisify(execFile);
const MAX_PATCH_BYTES = 64 * 1024 * 1024;

/** Candidates in a git repository or a folder, and the issue that they solve. */
interface RepositoryOptions {
  readonly fromBranches?: readonly string[];
  readonly fromPatches?: string;
  readonly repo: string;
  readonly base?: string;
  readonly statement?: string;
  readonly workdir?: string;
}

function withRepositoryOptions(command: Command): Command {
  return command
    .option('--from-branches <name...>', 'candidates are branches of a git repository, each against their common base')
    .option('--from-patches <dir>', 'candidates are the .patch and .diff files of a folder')
    .option('--repo <dir>', 'the git repository of the branches', '.')
    .option('--base <ref>', 'common base of the branches (default: their merge base with HEAD)')
    .option('--statement <file>', 'problem statement as text or Markdown, instead of --issue; needs --image')
    .option('--workdir <path>', 'path of the repository in the image; only with --statement');
}

/** One candidate per branch or file, named after it; null when neither option was given. @throws BadInputError */
export async function candidatesFrom(options: RepositoryOptions, instanceId: string): Promise<Candidate[] | null> {
  const { fromBranches, fromPatches } = options;
  if (fromBranches === undefined && fromPatches === undefined) return null;
  const named =
    fromBranches === undefined ? await patchesIn(fromPatches ?? '') : await patchesOf(fromBranches, options);
  return named.map(([name, patch]) => Candidate.parse({ instance_id: instanceId, candidate_id: name, patch }));
}

/** An issue from a statement and an image that contains the repository at base. @throws BadInputError */
export async function issueFrom(
  { statement = '', repo, workdir }: RepositoryOptions,
  images: readonly string[],
): Promise<Issue> {
  const instance_id = basename(resolve(repo)) || 'repository';
  const image = imageOf({ instance_id, repo: repositoryOf(instance_id), image: null }, imageTemplates(images));
  if (image === null) {
    throw new BadInputError('is needed with --statement.', { field: '--image' }, 'Build one that has the repository.');
  }
  const environment = { image, ...(workdir === undefined ? {} : { workdir }) };
  const problem_statement = await readText(statement);
  return parsed(Issue, { instance_id, problem_statement, environment });
}

async function patchesIn(folder: string): Promise<[string, string][]> {
  const files = await readdir(folder).catch(() => {
    throw new BadInputError('is not a readable folder.', { file: folder, field: '--from-patches' });
  });
  const patches = files.filter((file) => ['.patch', '.diff'].includes(extname(file))).sort();
  if (patches.length === 0) throw new BadInputError('has no .patch or .diff file.', { file: folder });
  return Promise.all(
    patches.map(async (file): Promise<[string, string]> => [
      basename(file, extname(file)),
      await readText(join(folder, file)),
    ]),
  );
}

async function patchesOf(branches: readonly string[], { repo, base }: RepositoryOptions): Promise<[string, string][]> {
  const commits = await Promise.all(branches.map((branch) => commitOf(repo, branch)));
  const from =
    base === undefined ? await ask(repo, ['merge-base', '--octopus', 'HEAD', ...commits]) : await commitOf(repo, base);
  return Promise.all(
    branches.map(async (branch, index): Promise<[string, string]> => [
      branch,
      // A plumbing command ignores prefixes, colours and drivers configured by the user or the repository.
      await ask(repo, [
        'diff-tree',
        '-p',
        '--binary',
        '--no-ext-diff',
        '--no-textconv',
        from.trim(),
        commits[index] ?? '',
      ]),
    ]),
  );
}

async function commitOf(repo: string, name: string): Promise<string> {
  return (await ask(repo, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`], name)).trim();
}

async function ask(repo: string, args: readonly string[], about = 'the branches'): Promise<string> {
  try {
    return (await git('git', ['-C', repo, ...args], { maxBuffer: MAX_PATCH_BYTES })).stdout;
  } catch (error) {
    const said = String((error as { stderr?: unknown }).stderr ?? error).trim();
    const why = said === '' ? 'there is no such commit' : said;
    throw new BadInputError(
      `git could not read ${about}: ${why}.`,
      { file: repo, field: '--from-branches' },
      'Name branches of the repository (`git branch -a`), and fetch them whole (`git fetch --unshallow`).',
    );
  }
}
