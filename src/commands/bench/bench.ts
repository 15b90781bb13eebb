import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { BadInputError, EXIT } from '../../core/errors/errors.js';
import { visibleLine } from '../../core/visible.js';
import { printJson, printText } from '../answer.js';
import type { OpenApp } from '../app.js';
import { collected, count, positive, seconds, wholeNumber } from '../options.js';
import { imageOption, type RuleOptions, withRuleOptions } from '../run-options.js';
import type { ServedState } from './bench-plan.js';
import type { BenchPlace } from './bench-run.js';

interface BenchOptions extends RuleOptions {
  readonly out?: string;
  readonly json?: true;
  readonly server?: string;
  readonly apiKey?: string;
  readonly estimate?: true;
  readonly dataset?: string;
  readonly split?: string;
  readonly image: readonly string[];
  readonly where: readonly string[];
  readonly instances?: string;
  readonly slice?: string;
  readonly shard?: string;
  readonly sample?: number;
  readonly seed?: number;
  readonly name?: string;
  readonly k?: number;
  readonly candidates?: readonly string[];
  readonly tests?: string;
  readonly verifiers?: string;
  readonly budgetTokens?: number;
  readonly budgetUsd?: number;
  readonly maxFailures?: number;
  readonly parallel?: number;
  readonly hiddenTests?: string;
  readonly runScripts?: string;
  readonly timeLimitS?: number;
  readonly grade: boolean;
}

const EXAMPLE = `
Example:
  $ bestk bench run bench.yaml --out out/
  $ bestk bench run --dataset SWE-bench_Verified/ -k 8 --sample 50 --out out/
  $ bestk bench run --dataset rows.jsonl --candidates runs/ --verifiers eb --out out/
  $ bestk bench run bench.yaml --server https://bestk.example --out out/
  $ bestk bench gold bench.yaml --out gold/
  $ bestk bench status out/

docs/bench.md says what a bench file holds. Options say the same and win over the file; those of an arm (--name, -k,
--candidates, --tests, --verifiers, --preset and the like) make one arm in the place of the file's. The folder gets arms/NAME/ (a folder an
instance, predictions.jsonl, candidates.jsonl, graded/labels.jsonl) and report/ (report.html, .json, .md, issues.csv, and a report
of each arm). Ctrl-C begins nothing more and lets the rest end; a second one stops it.

Exit: 0 done, 2 bad input or nothing done, 3 Docker or a model was not available for some instance, 130 interrupted (the
same command, or resume, goes on where it stopped).`;

/** `bestk bench`: a data set in, a report out. */
export function registerBench(program: Command, openApp: OpenApp): void {
  const bench = program.command('bench').description('run a whole data set in one or more ways, grade it and report');
  withPlanOptions(bench.command('run').description('sample or take candidates, verify, select, grade, report'))
    .option('--out <dir>', 'folder of the benchmark; the same one goes on where it stopped')
    .option('--server <url>', 'have a running service do it, and follow it there')
    .addOption(keyOption())
    .option('--estimate', 'say what it can come to at most, and do nothing')
    .action(async (file: string | undefined, options: BenchOptions, command: Command) => {
      process.exitCode = await start(await planOf(file, options, command), options, openApp);
    });
  onFolder(bench, 'resume', 'go on where a benchmark stopped, and do again what failed')
    .option('--failed', 'do again what failed, and begin nothing')
    .action(async (out: string, { failed, ...options }: FolderOptions & { failed?: true }) => {
      process.exitCode = await resume(out, failed === true, options, openApp);
    });
  onFolder(bench, 'status', 'say how far a benchmark is').action(async (out: string, options: FolderOptions) => {
    await tellReport(out, options, false);
  });
  onFolder(bench, 'report', 'write the report of a benchmark again, of what is there so far').action(
    async (out: string, options: FolderOptions) => {
      await tellReport(out, options, true);
    },
  );
  registerGold(bench, openApp);
}

/** Of a command about the folder of a benchmark. */
interface FolderOptions {
  readonly json?: true;
  readonly apiKey?: string;
}

function onFolder(bench: Command, name: string, description: string): Command {
  return bench
    .command(name)
    .description(description)
    .argument('<dir>', 'the --out of bench run')
    .addOption(keyOption())
    .option('--json', 'one JSON document on stdout');
}

function keyOption(): Option {
  return new Option('--api-key <key>', 'of the service, with --server').env('BESTK_API_KEY');
}

function registerGold(bench: Command, openApp: OpenApp): void {
  withPlanOptions(
    bench.command('gold').description('check that images and gold patches grade as they should, before money is spent'),
  )
    .requiredOption('--out <dir>', 'folder for grades.jsonl')
    .action(async (file: string | undefined, options: BenchOptions & { out: string }, command: Command) => {
      const { checkGold } = await import('./bench-grade.js');
      const { checked, wrong } = await checkGold(await planOf(file, options, command), options.out, openApp);
      if (options.json === true) printJson({ checked, wrong, out: options.out });
      else {
        const told = wrong.map(({ instance_id, reason }) => visibleLine(`${instance_id}: ${reason}`));
        const bad = new Set(wrong.map(({ instance_id }) => instance_id)).size;
        printText([...told, `${checked} instances checked, ${bad} of them with a problem`].join('\n'));
      }
      process.exitCode = wrong.length === 0 ? EXIT.done : EXIT.badInput;
    });
}

function withPlanOptions(command: Command): Command {
  return withRuleOptions(command)
    .argument('[file]', 'bench.yaml')
    .option('--dataset <path>', 'data set (bestk datasets show says which are read)')
    .option('--split <name>', 'of a data set that is a folder with several; test by default')
    .addOption(imageOption())
    .option(
      '--where <condition>',
      'column=value or column!=value, several values with commas; again for another',
      collected,
      [],
    )
    .option('--instances <list>', 'ids, with commas')
    .option('--slice <from:to>', 'by position, from 0')
    .option('--shard <part/of>', 'such as 2/8')
    .option('--sample <n>', 'so many at random', count)
    .option('--seed <n>', 'of the sample', wholeNumber)
    .option('--name <name>', 'of the arm that the next options make')
    .option('-k <number>', 'trajectories of each issue', count)
    .option('--candidates <path...>', 'saved candidates in any format that import reads, instead of sampling')
    .option('--tests <file>', 'saved generated tests')
    .option('--verifiers <list>', 'as for bestk select')
    .option('--budget-tokens <number>', 'tokens for everything together', count)
    .option('--budget-usd <number>', 'US dollars for everything together', positive)
    .option('--max-failures <n>', 'begin nothing more after so many', count)
    .option('--parallel <n>', 'instances under way at once', count)
    .option('--hidden-tests <path>', "rows with the hidden tests, instead of the data set's own")
    .option('--run-scripts <dir>', "run_scripts/ of SWE-bench Pro's repository, for its rows")
    .option('--time-limit-s <seconds>', 'limit of one run of the hidden tests', seconds)
    .option('--no-grade', 'select only')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE);
}

const ARM_OPTIONS = [
  'name',
  'k',
  'candidates',
  'tests',
  'verifiers',
  'preset',
  'combiner',
  'calibration',
  'minConfidence',
];

/** @throws BadInputError */
async function planOf(file: string | undefined, options: BenchOptions, command: Command) {
  if (file === undefined && options.dataset === undefined) {
    throw new BadInputError('is missing: name a bench file, or a data set with --dataset.', { field: '--dataset' });
  }
  const { readPlan } = await import('./bench-plan.js');
  const given = (name: string): boolean => command.getOptionValueSource(name) === 'cli';
  const { where, instances, slice, shard, sample, seed } = options;
  const filter = defined({
    where: where.length === 0 ? undefined : where,
    instances: listed(instances),
    slice,
    shard,
    sample,
    seed,
  });
  const hasArm = ARM_OPTIONS.some(given) || file === undefined;
  const { k, candidates, tests, preset, combiner, calibration, minConfidence, name = 'mine' } = options;
  const rule = { preset, combiner, calibration, min_confidence: minConfidence };
  const arm = defined({ name, k, candidates, tests, ...rule, judges: listed(options.verifiers) });
  const budget = defined({ tokens: options.budgetTokens, usd: options.budgetUsd });
  const grading = defined({
    hidden_tests: options.hiddenTests,
    run_scripts: options.runScripts,
    time_limit_s: options.timeLimitS,
  });
  return readPlan(
    file,
    defined({
      ...{
        dataset: options.dataset,
        split: options.split,
        concurrency: options.parallel,
        max_failures: options.maxFailures,
      },
      image: options.image.length === 0 ? undefined : options.image,
      filter: orAbsent(filter),
      arms: hasArm ? [arm] : undefined,
      budget: orAbsent(budget),
      grade: options.grade ? orAbsent(grading) : false,
    }),
  );
}

function listed(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((each) => each.trim());
}

function defined(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function orAbsent(values: Record<string, unknown>): Record<string, unknown> | undefined {
  return Object.keys(values).length === 0 ? undefined : values;
}

type Plan = Awaited<ReturnType<typeof planOf>>;

async function start(plan: Plan, options: BenchOptions, openApp: OpenApp): Promise<number> {
  const { out, server, apiKey, estimate, json = false } = options;
  if (estimate === true) return tellEstimate(plan, json, openApp);
  if (out === undefined) throw new BadInputError('is missing: name a folder for the report.', { field: '--out' });
  if (server === undefined) return run(plan, { out, failedOnly: false }, json, openApp);
  if (!/^https?:\/\//.test(server)) throw new BadInputError('must be a http or https URL.', { field: '--server' });
  const { BenchService, startServed } = await import('./bench-served.js');
  const service = new BenchService(server.replace(/\/$/, ''), apiKey ?? null);
  return follow(await startServed(plan, out, service), out, { json, ...(apiKey === undefined ? {} : { apiKey }) });
}

async function resume(out: string, failedOnly: boolean, options: FolderOptions, openApp: OpenApp): Promise<number> {
  const { requireState } = await import('./bench-plan.js');
  const state = await requireState(out);
  if (state.kind === 'bestk-bench') return run(state.plan, { out, failedOnly }, options.json === true, openApp);
  if (failedOnly) {
    const next = 'Leave it out: a service does again what failed, and goes on.';
    throw new BadInputError('is for a benchmark of this machine.', { field: '--failed' }, next);
  }
  return follow(state, out, { ...options, json: options.json === true });
}

async function run(plan: Plan, place: BenchPlace, json: boolean, openApp: OpenApp): Promise<number> {
  const { runBench } = await import('./bench-run.js');
  const { told, report, code } = await runBench(plan, place, openApp);
  const { armsText } = await import('../../reports/benchmark/arms-report.js');
  const { out } = place;
  if (json) printJson({ arms: told, comparisons: report.comparisons, summary: report.arms, out });
  else printText(`${armsText(report)}\nReport: ${join(out, 'report')}`);
  return code;
}

/** To its end at its service. */
async function follow(
  state: ServedState,
  out: string,
  { json, apiKey }: { readonly json: boolean; readonly apiKey?: string },
): Promise<number> {
  const { BenchService, followServed } = await import('./bench-served.js');
  const service = new BenchService(state.server, apiKey ?? null);
  const code = await followServed(state, out, service);
  if (json) printJson({ ...(await service.get(state.id)), out });
  else printText(`${(await service.report(state.id, 'text/plain')).trimEnd()}\nReport: ${join(out, 'report')}`);
  return code;
}

async function tellReport(out: string, { json, apiKey }: FolderOptions, writes: boolean): Promise<void> {
  const { requireState } = await import('./bench-plan.js');
  const state = await requireState(out);
  const place = writes ? `\nReport: ${join(out, 'report')}` : '';
  if (state.kind === 'bestk-bench-served') {
    const { BenchService, fetchReport } = await import('./bench-served.js');
    const service = new BenchService(state.server, apiKey ?? null);
    const view = await service.get(state.id);
    if (writes) await fetchReport(view, out, service);
    if (json === true) printJson({ ...view, out });
    else printText(`${(await service.report(state.id, 'text/plain')).trimEnd()}${place}`);
    return;
  }
  const { readBench, reportBench } = await import('./bench-report.js');
  const { armsText } = await import('../../reports/benchmark/arms-report.js');
  const report = writes ? await reportBench(out, state) : (await readBench(out, state)).report;
  const { issues, ...rest } = report;
  if (json === true) printJson(writes ? report : { ...rest, instances: issues.length });
  else printText(`${armsText(report)}${place}`);
}

async function tellEstimate(plan: Plan, json: boolean, openApp: OpenApp): Promise<number> {
  const { estimateBench } = await import('./bench-run.js');
  const { estimateLine } = await import('../progress.js');
  const arms = await estimateBench(plan, openApp);
  const known = arms.every(({ at_most }) => at_most.usd !== null);
  const sum = (value: (each: (typeof arms)[number]['at_most']) => number): number =>
    arms.reduce((total, { at_most }) => total + value(at_most), 0);
  const at_most = {
    model_calls: sum(({ model_calls }) => model_calls),
    tokens: sum(({ tokens }) => tokens),
    usd: known ? sum(({ usd }) => usd ?? 0) : null,
  };
  if (json) {
    printJson({ at_most, arms });
    return EXIT.done;
  }
  const lines = arms.map(
    ({ arm, instances, at_most: own }) => `${visibleLine(arm)}, ${instances} instances: ${estimateLine(own)}`,
  );
  const unbounded =
    'Nothing is sampled and no judge is asked. What a model may take to write tests is not in this bound.';
  const bounded = `Trajectories and one judgement of each: ${estimateLine(at_most)}. Limit it with --budget-tokens or --budget-usd.`;
  printText([...lines, at_most.model_calls === 0 ? unbounded : bounded].join('\n'));
  return EXIT.done;
}
