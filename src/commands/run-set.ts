import pLimit from 'p-limit';
import { contentKey } from '../core/fingerprint.js';
import { BadInputError, BestkError, EXIT, InterruptedError } from '../core/errors/errors.js';
import { etaOf, etaText } from '../core/eta.js';
import type { RunRequest } from '../core/run/run-request.js';
import { tokensOf } from '../core/run/run-result.js';
import { type LabelsByInstance, labelsOf, readAllLabels } from '../reports/labels.js';
import { visibleLine } from '../core/visible.js';
import { selectSummary } from '../reports/selection-table.js';
import { SetFiles } from '../reports/set-files.js';
import { writeRun } from '../reports/write-run.js';
import { poolOfRun } from '../runs/entries.js';
import { printJson, printProgress, printText } from './answer.js';
import type { App, OpenApp } from './app.js';
import { runOne, runToEnd, untilInterrupted } from './run-to-end.js';

/** One instance of a set. */
export interface SetItem {
  readonly instance_id: string;
  /** @throws BadInputError when nothing can be asked of it; the others go on */
  request(): RunRequest | Promise<RunRequest>;
}

export interface SetOptions {
  /** Part of the runs' keys: doing the same again goes on where it stopped. */
  readonly command: string;
  readonly out: string;
  /** Instances under way at once. */
  readonly parallel: number;
  /** Looked at when the selection of an instance is made, never before; null = there are none. */
  readonly labels: () => Promise<LabelsByInstance | null>;
  /** Runs that are done are taken as they are. */
  readonly once?: boolean;
  /** Why no further instance is begun; null = go on. */
  readonly stop?: (told: SetTold) => string | null;
}

/** What became of a set. */
export interface SetTold {
  instances: number;
  done: number;
  /** Of those done, without a patch worth returning. */
  without: number;
  /** Nothing could be asked of them. */
  skipped: number;
  /** Their surroundings failed. */
  failed: number;
  /** Those that the set was stopped before. */
  not_begun: number;
  readonly spent: { tokens: number; usd: number };
}

/**
 * Runs a set of instances, each into its own folder below `out`, and the set's files beside them. One that cannot be done, or
 * whose surroundings fail, is told in skipped.jsonl, and the rest goes on. Closes the application.
 * @throws InterruptedError
 */
export async function runSet(app: App, items: readonly SetItem[], options: SetOptions): Promise<SetTold> {
  const counts = { instances: items.length, done: 0, without: 0, skipped: 0, failed: 0, not_begun: 0 };
  const told: SetTold = { ...counts, spent: { tokens: 0, usd: 0 } };
  const files = new SetFiles(options.out);
  await files.begin();
  try {
    await untilInterrupted(app, async (signal) => {
      const limit = pLimit(options.parallel);
      const endings: number[] = [];
      const one = (item: SetItem): Promise<void> => runItem({ app, item, options, files, told, endings }, signal);
      await Promise.all(items.map((item) => limit(() => one(item))));
    });
  } catch (error) {
    await files.discard();
    throw error;
  }
  await files.finish();
  return told;
}

export interface RequestOptions {
  readonly command: string;
  readonly out: string;
  /** Of many instances, those under way at once. */
  readonly parallel: number;
  /** File of labels, shown beside the selection. */
  readonly labels?: string;
  readonly json?: boolean;
}

/**
 * One run with its report in `out`, several as a set; prints what came of it. @returns the exit code
 * @throws the run's own failure, InterruptedError, BadInputError for the labels before anything is run
 */
export async function runRequests(
  openApp: OpenApp,
  requests: readonly RunRequest[],
  { command, out, parallel, labels: file, json = false }: RequestOptions,
): Promise<number> {
  const labels = file === undefined ? null : await readAllLabels(file);
  const [request, ...others] = requests;
  if (request === undefined || others.length > 0) {
    const items = requests.map((each) => ({ instance_id: each.issue.instance_id, request: () => each }));
    const set = { command, out, parallel, labels: () => Promise.resolve(labels) };
    return tellSet(await runSet(await openApp(), items, set), out, json);
  }
  const shown = labels === null ? null : labelsOf(labels, request.issue.instance_id, file ?? '');
  const finished = await runToEnd(await openApp(), `${command}:${contentKey(request)}`, request);
  await writeRun(out, finished);
  const { selection, statistics, usage, sampling } = finished.result;
  const sampled = sampling === null ? {} : { sampling };
  if (json) printJson({ ...selection, statistics, ...sampled, usage, out });
  else printText(selectSummary(finished.result, shown, out));
  return selection.candidate_id === null ? EXIT.noPatch : EXIT.done;
}

/** Prints what became of a set. @returns the exit code */
export function tellSet(told: SetTold, out: string, json: boolean, also: object = {}): number {
  const { instances, done, without, skipped, failed, not_begun } = told;
  if (json) printJson({ instances, done, without, skipped, failed, not_begun, ...also, out });
  else printText(summary(told, out));
  return exitOfSet(told);
}

export function exitOfSet({ done, failed }: SetTold): number {
  if (failed > 0) return EXIT.unavailable;
  return done === 0 ? EXIT.badInput : EXIT.done;
}

interface Work {
  readonly app: App;
  readonly item: SetItem;
  readonly options: SetOptions;
  readonly files: SetFiles;
  readonly told: SetTold;
  /** When instances ended, in ms. */
  readonly endings: number[];
}

async function runItem(work: Work, signal: AbortSignal): Promise<void> {
  const { options, files, told } = work;
  const { instance_id } = work.item;
  signal.throwIfAborted();
  const stopped = options.stop?.(told);
  if (typeof stopped === 'string') {
    told.not_begun += 1;
    await files.skip({ instance_id, reason: stopped, code: 'not-begun' });
    return;
  }
  try {
    const candidate = await runToFolder(work, signal);
    printProgress(`${visibleLine(instance_id)}: ${visibleLine(candidate ?? 'none')} (${position(work)})`);
  } catch (error) {
    if (!(error instanceof BestkError) || error instanceof InterruptedError) throw error;
    const what = error instanceof BadInputError || error.exitCode === EXIT.badInput ? 'skipped' : 'failed';
    told[what] += 1;
    await files.skip({ instance_id, reason: error.message, code: error.code });
    printProgress(`${visibleLine(instance_id)}: ${what}, ${visibleLine(error.message)} (${position(work)})`);
  }
}

/** @returns the selected candidate */
async function runToFolder({ app, item, options, files, told }: Work, signal: AbortSignal): Promise<string | null> {
  const request = await item.request();
  const key = `${options.command}:${contentKey(request)}`;
  const run = await runOne(app, { key, request, onEvent: () => undefined, once: options.once }, signal);
  const labels = await options.labels();
  await files.add(run, poolOfRun(request, run.result).entries, labels?.get(item.instance_id) ?? null);
  const { selection, usage } = run.result;
  told.done += 1;
  told.without += Number(selection.candidate_id === null);
  told.spent.tokens += tokensOf(usage.models);
  told.spent.usd += usage.cost_usd ?? 0;
  return selection.candidate_id;
}

const PACE_OF = 60;

/** How far the set is, and how long it still takes. */
function position({ told: { instances, done, skipped, failed }, endings }: Work): string {
  const ended = done + skipped + failed;
  endings.push(Date.now());
  const eta = etaOf(endings.slice(-PACE_OF), instances - ended, Date.now());
  return `${ended} of ${instances}${eta === null ? '' : `, ${etaText(eta)}`}`;
}

function summary({ instances, done, without, skipped, failed, not_begun }: SetTold, out: string): string {
  const stopped = not_begun === 0 ? '' : `, ${not_begun} not begun`;
  const missing = skipped + failed === 0 ? '' : `, ${skipped} skipped, ${failed} failed (skipped.jsonl says why)`;
  const none = without === 0 ? '' : `, ${without} of them without a patch worth returning`;
  return `${done} of ${instances} instances done${none}${missing}${stopped}. Report: ${out}`;
}
