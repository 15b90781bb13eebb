import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { BadInputError, EXIT } from '../../core/errors/errors.js';
import { visibleLine } from '../../core/hostile-text.js';
import { count, type OpenApp, outFolder } from '../command.js';
import { estimateOption } from '../run-options.js';
import { printJson, printText } from '../output.js';
import { type BenchOptions, planOf, withPlanOptions } from './bench-options.js';
import type { BenchPlan as Plan, ServedState } from './bench-plan.js';
import type { BenchPlace } from './bench-run.js';

/** `bestk bench`: runs a data set and writes a report. */
export function registerBench(program: Command, openApp: OpenApp): void {
  const bench = program
    .command('bench')
    .description('run a whole data set with one or more configurations, grade it and report');
  withPlanOptions(bench.command('run').description('sample or take candidates, verify, select, grade, report'))
    .option('--out <dir>', 'folder of the benchmark; the same folder resumes it')
    .option('--server <url>', 'run it on this service and follow it')
    .addOption(keyOption())
    .addOption(estimateOption())
    .action(async (file: string | undefined, options: BenchOptions, command: Command) => {
      const plan = await planOf(file, options, command);
      process.exitCode = await blamed(file, command, () => start(plan, options, openApp));
    });
  onFolder(bench, 'resume', 'resume a benchmark and retry what failed', RESUME_EXAMPLE)
    .option('--failed', 'retry what failed and start nothing new')
    .action(async (out: string, { failed, ...options }: FolderOptions & { failed?: true }) => {
      process.exitCode = await resume(out, failed === true, options, openApp);
    });
  onFolder(bench, 'status', 'show the progress of a benchmark', STATUS_EXAMPLE).action(
    (out: string, options: FolderOptions) => tellReport(out, options, false),
  );
  const what = 'write the report of a benchmark again, of what is there so far';
  onFolder(bench, 'report', what, REPORT_EXAMPLE).action((out: string, options: FolderOptions) =>
    tellReport(out, options, true),
  );
  registerGold(bench, openApp);
}

/** Options of the commands on a benchmark's folder. */
interface FolderOptions {
  readonly json?: true;
  readonly apiKey?: string;
}

const RESUME_EXAMPLE = `
Example:
  $ bestk bench resume out/
  $ bestk bench resume out/ --failed

Exit: as bestk bench run.`;

const STATUS_EXAMPLE = `
Example:
  $ bestk bench status out/

Exit: 0 done, 2 not the folder of a benchmark.`;

const REPORT_EXAMPLE = `
Example:
  $ bestk bench report out/

Writes out/report/. Exit: 0 done, 2 not the folder of a benchmark.`;

function onFolder(bench: Command, name: string, description: string, example: string): Command {
  return bench
    .command(name)
    .description(description)
    .argument('<dir>', 'the --out of bench run')
    .addOption(keyOption())
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', example);
}

function keyOption(): Option {
  return new Option('--api-key <key>', 'API key of the service that runs the benchmark').env('BESTK_API_KEY');
}

interface GoldOptions extends BenchOptions {
  readonly out: string;
  readonly repeat: number;
}

function registerGold(bench: Command, openApp: OpenApp): void {
  withPlanOptions(
    bench
      .command('gold')
      .description('check that images are present and gold patches grade as right, before money is spent'),
  )
    .requiredOption('--out <dir>', 'folder for grades.jsonl')
    .option('--repeat <n>', 'grade gold and the empty patch n times each and list flaky tests', count, 1)
    .action(async (file: string | undefined, options: GoldOptions, command: Command) => {
      const { checkGold, describeFlaky } = await import('./bench-gold.js');
      const plan = await planOf(file, options, command);
      const { out, repeat } = options;
      const { checked, wrong, flaky } = await blamed(file, command, () => checkGold(plan, { out, repeat }, openApp));
      if (options.json === true) printJson({ checked, wrong, repeat, flaky, out });
      else {
        const told = [
          ...wrong.map(({ instance_id, reason }) => `${instance_id}: ${reason}`),
          ...flaky.map(describeFlaky),
        ];
        const bad = new Set([...wrong, ...flaky].map(({ instance_id }) => instance_id)).size;
        printText([...told.map(visibleLine), `${checked} instances checked, ${bad} of them with a problem`].join('\n'));
      }
      process.exitCode = wrong.length + flaky.length === 0 ? EXIT.done : EXIT.badInput;
    });
}

/** Runs `work`; a filter that matches no instance is reported with the option or the file it came from. */
async function blamed<T>(file: string | undefined, command: Command, work: () => Promise<T>): Promise<T> {
  const { FilterError } = await import('../../io/datasets/filter.js');
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof FilterError)) throw error;
    const { part } = error;
    const isOption = command.getOptionValueSource(part) === 'cli';
    throw error.saidAt(isOption ? { field: `--${part}` } : { file, field: `filter.${part}` });
  }
}

async function start(plan: Plan, options: BenchOptions, openApp: OpenApp): Promise<number> {
  const { server, apiKey, estimate, json = false } = options;
  if (estimate === true) return tellEstimate(plan, json, openApp);
  const out = outFolder(options);
  if (server === undefined) return run(plan, { out, failedOnly: false }, json, openApp);
  if (!/^https?:\/\//.test(server)) throw new BadInputError('must be an http or https URL.', { field: '--server' });
  const { BenchService, startServed } = await import('./bench-served.js');
  const service = new BenchService(server.replace(/\/$/, ''), apiKey ?? null);
  return follow(await startServed(plan, out, service), out, { json, ...(apiKey === undefined ? {} : { apiKey }) });
}

async function resume(out: string, failedOnly: boolean, options: FolderOptions, openApp: OpenApp): Promise<number> {
  const { requireState } = await import('./bench-plan.js');
  const state = await requireState(out);
  if (state.kind === 'bestk-bench') return run(state.plan, { out, failedOnly }, options.json === true, openApp);
  if (failedOnly) {
    const next = 'Leave it out: a service retries what failed and continues.';
    throw new BadInputError('only works for local benchmarks.', { field: '--failed' }, next);
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

/** Follows a benchmark at its service to the end. */
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
  const { readBench, reportBench } = await import('./bench-grade.js');
  const { armsText } = await import('../../reports/benchmark/arms-report.js');
  const report = writes ? await reportBench(out, state) : (await readBench(out, state)).report;
  const { issues, ...rest } = report;
  if (json === true) printJson(writes ? report : { ...rest, instances: issues.length });
  else printText(`${armsText(report)}${place}`);
}

async function tellEstimate(plan: Plan, json: boolean, openApp: OpenApp): Promise<number> {
  const { estimateBench } = await import('./bench-run.js');
  const { estimateLine, estimateText } = await import('../output.js');
  const { sumOfEstimates } = await import('../../runs/estimate.js');
  const arms = await estimateBench(plan, openApp);
  const sum = sumOfEstimates(arms);
  if (json) printJson({ ...sum, arms });
  else {
    const lines = arms.map(
      ({ arm, instances, ...own }) => `${visibleLine(arm)}, ${instances} instances: ${estimateLine(own)}`,
    );
    printText([...lines, estimateText(sum)].join('\n'));
  }
  return EXIT.done;
}
