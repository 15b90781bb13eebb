import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { BadInputError } from '../core/errors/errors.js';
import type { Candidate } from '../core/run/candidate.js';
import type { GeneratedTest } from '../core/run/generated-test.js';
import { type Issue, repositoryOf } from '../core/run/issue.js';
import { type GivenRule, type RunRequest, runRequest } from '../core/run/run-request.js';
import { imageOf, imageTemplates } from '../io/datasets/rows.js';
import { readIssues } from '../io/datasets/data-set.js';
import { ImportedFolder, type ImportedInstance } from '../io/saved-runs/imported-folder.js';
import { importSummary, writeImport } from '../reports/write-import.js';
import { prepareFolder } from '../reports/write-run.js';
import { readAllLabels } from '../reports/label-book.js';
import type { RunChecks } from '../runs/check-request.js';
import { type OpenApp, outFolder } from './command.js';
import { printProgress, tellEstimate } from './output.js';
import {
  estimateOption,
  givenTests,
  imageOption,
  parallelOption,
  readRule,
  type RuleOptions,
  verifierNames,
  withRuleOptions,
} from './run-options.js';
import { askable, runSet, tellSet } from './run-set.js';

interface RescoreOptions extends RuleOptions {
  readonly input: readonly string[];
  readonly out?: string;
  readonly estimate?: true;
  readonly labels?: readonly string[];
  readonly issues?: string;
  readonly tests?: string;
  readonly image: readonly string[];
  readonly verifiers?: string;
  readonly parallel: number;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk rescore --input runs/ --verifiers ef --out rescored/
  $ bestk rescore --input output.jsonl preds/ --issues rows.jsonl --labels reports/ \\
      --image 'swebench/sweb.eval.x86_64.{instance_id}' --preset deepswe --out rescored/
  $ bestk rescore --input solved/ --tests tests.jsonl --preset majority --out again/

The input is anything that import reads, including the folders of import, select and solve. Statements come from the
runs or from --issues (a data set), images from there, from --image, or from a bestk run. Without an image only
execution-free verifiers run. With several instances, the folder gets one for each; beside them are selections.jsonl, predictions.jsonl
(SWE-bench: the selected patches), candidates.jsonl, skipped.jsonl and, where labels are known, scores.jsonl for curves. Labels
are used only after the selection of their instance is made.

Exit: 0 done, 2 bad input or nothing to rescore, 3 Docker or the model is not available, 4 no patch is worth returning
(several instances: of none), 130 interrupted (the same command resumes).`;

/** `bestk rescore`: verifies and selects again among saved runs of any format. */
export function registerRescore(program: Command, openApp: OpenApp): void {
  const command = program
    .command('rescore')
    .description('score saved trajectories again and select among them')
    .requiredOption('--input <path...>', 'files and folders of any format that import reads')
    .option('--out <dir>', 'folder for the reports; not with --estimate')
    .addOption(estimateOption())
    .option('--labels <path...>', 'labels or harness reports, used for statistics only')
    .option('--issues <path>', 'statements and environments for runs that lack them')
    .option('--tests <file>', 'saved generated tests, instead of those that BESTK_TEST_MODEL writes')
    .addOption(imageOption())
    .option('--verifiers <list>', 'as for bestk select (default: those the settings and images allow)');
  withRuleOptions(command)
    .addOption(parallelOption())
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: RescoreOptions) => {
      process.exitCode = await rescore(options, openApp);
    });
}

async function rescore(options: RescoreOptions, openApp: OpenApp): Promise<number> {
  if (options.estimate === true) return estimateRescore(options, openApp);
  const out = outFolder(options);
  const imported = join(out, 'imported');
  const { app, items, candidates } = await prepared(options, imported, openApp);
  const labels = await readAllLabels(join(imported, 'labels.jsonl'));
  await prepareFolder(out);
  const { parallel, json = false } = options;
  const single = items.length === 1;
  const told = await runSet(app, items, {
    command: 'rescore',
    out,
    parallel,
    labels: () => Promise.resolve(labels),
    single,
  });
  return tellSet(told, out, json, { rescored: told.done, candidates });
}

/** Instances without a valid request are left out. */
async function estimateRescore(options: RescoreOptions, openApp: OpenApp): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'bestk-estimate-'));
  try {
    const { app, items } = await prepared(options, join(folder, 'imported'), openApp);
    const requests = await Promise.all(items.map(askable));
    return await tellEstimate(app, requests.flat(), options.json === true);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Imports the runs, then opens the application; returns it with the instances to rescore. @throws BadInputError */
async function prepared(options: RescoreOptions, imported: string, openApp: OpenApp) {
  const rule = await readRule(options);
  const { image } = options;
  const summary = await writeImport([...options.input, ...(options.labels ?? [])], imported);
  printProgress(importSummary(summary, imported));
  if (options.labels !== undefined && summary.labelled + summary.unknown_labels === 0) {
    const at = { file: options.labels.join(', '), field: '--labels' };
    throw new BadInputError(
      'no label with an outcome belongs to a candidate of --input.',
      at,
      `${imported}/rejected.jsonl says why.`,
    );
  }
  const folder = await ImportedFolder.open(imported);
  const instances = folder.instances();
  const ids = instances.map(({ instance_id }) => instance_id);
  const issues = options.issues === undefined ? undefined : await readIssues(options.issues, { image, lenient: true });
  const tests = await givenTests(options.tests, ids);
  const wishes = {
    ...{ image, verifiers: options.verifiers, rule },
    issues: issues && new Map(issues.map((issue) => [issue.instance_id, issue])),
  };
  const app = await openApp();
  const items = instances.map((instance) => ({
    instance_id: instance.instance_id,
    request: async () => {
      const { instance_id } = instance;
      const given = tests(instance_id);
      const rescored = {
        candidates: await folder.candidates(instance_id),
        tests: given === null || given.length === 0 ? (folder.tests(instance_id) ?? given) : given,
      };
      return rescoreRequest(wishes, instance, rescored, app.dependencies);
    },
  }));
  return { app, items, candidates: summary.candidates };
}

/** The options that determine how an instance is scored. */
interface RescoreWishes {
  /** Issues by instance, overriding those of the runs. */
  readonly issues?: ReadonlyMap<string, Issue> | undefined;
  readonly image: readonly string[];
  readonly verifiers?: string | null | undefined;
  readonly rule: GivenRule;
}

/** Image name that stands for "no image"; verifiers that need an image are then not used. */
const NO_IMAGE = 'none';

/** Candidates to score and tests to use; null tests = the configured model writes them. */
interface Rescored {
  readonly candidates: readonly Candidate[];
  readonly tests: readonly GeneratedTest[] | null;
}

/**
 * The run request for one imported instance.
 * @throws BadInputError when it has no statement, or a verifier needs something unknown
 */
export function rescoreRequest(
  wishes: RescoreWishes,
  instance: ImportedInstance,
  { candidates, tests }: Rescored,
  dependencies: Pick<RunChecks, 'defaults'>,
): RunRequest {
  const { issue, image } = issueOf(wishes, instance);
  const verifiers = chosen(wishes, image, dependencies);
  return runRequest({ issue, candidates, tests, verifiers, ...wishes.rule });
}

/** From the file of issues, else from the runs. @param instance its statement may be null */
function issueOf(
  { issues, image: templates }: RescoreWishes,
  { instance_id, problem_statement, environment, image: own }: ImportedInstance,
): { readonly issue: unknown; readonly image: string | null } {
  const given = issues?.get(instance_id);
  if (given !== undefined) return { issue: given, image: given.environment.image };
  if (issues !== undefined) throw new BadInputError(`${instance_id} is not among the issues.`, { field: '--issues' });
  if (problem_statement === null) {
    throw new BadInputError(`${instance_id} has no problem statement.`, {}, 'Add the issues with --issues.');
  }
  const named = { instance_id, repo: repositoryOf(instance_id), image: own };
  // The image named by another tool's run is where its agent worked; only the user knows whether it exists here.
  const image = imageOf(named, imageTemplates(templates)) ?? null;
  const known = templates.length > 0 || environment !== null ? image : null;
  return {
    issue: { instance_id, problem_statement, environment: { ...environment, image: known ?? NO_IMAGE } },
    image: known,
  };
}

/** The requested verifiers, else those that settings and image allow. */
function chosen(
  wishes: RescoreWishes,
  image: string | null,
  dependencies: Pick<RunChecks, 'defaults'>,
): readonly string[] {
  const asked = verifierNames(wishes);
  if (asked === undefined) {
    const allowed = dependencies.defaults.filter((name) => name !== 'eb' || image !== null);
    if (allowed.length > 0) return allowed;
    throw new BadInputError('nothing can verify.', {}, 'Set BESTK_VERIFIER_MODEL or --image.');
  }
  if (asked.includes('eb') && image === null) {
    throw new BadInputError('the execution-based verifier needs an image.', {}, 'Add --image or --issues.');
  }
  return asked;
}
