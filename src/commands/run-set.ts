import { printEvent, printJson, printNote, printProgress, printText, standingLine } from './output.js';
import pLimit from 'p-limit';
import { contentKey } from '../core/identifier.js';
import { RunFailedError, type Spent, spentOn } from '../core/budget/budget.js';
import { BadInputError, BestkError, EXIT, InterruptedError } from '../core/errors/errors.js';
import { etaOf } from '../core/async/time.js';
import type { RunRequest } from '../core/run/run-request.js';
import { tokensOfRun, RunResult } from '../core/run/run-result.js';
import { type LabelsByInstance, labelsOf } from '../reports/label-book.js';
import { ImportLabels } from '../reports/labels.js';
import { readLabels } from '../reports/benchmark/read-benchmark.js';
import { visibleLine } from '../core/hostile-text.js';
import { selectSummary } from '../reports/selection-table.js';
import { SetFiles, type Skipped } from '../reports/set-files.js';
import { writeRun, type FinishedRun } from '../reports/write-run.js';
import { poolOfRun } from '../runs/entries.js';
import { type RunEvent, hasEnded, type Run } from '../ports/run-store.js';
import type { App, OpenApp } from './command.js';
import type { RunService } from '../runs/run-service.js';
import { untilInterrupted } from './stopping.js';

/** One instance of a set. */
export interface SetItem {
  readonly instance_id: string;
  /** Image to fetch ahead of its turn; null or absent = no image is known to be needed. */
  readonly image?: string | null;
  /** What was paid for it before it runs; part of what it comes to. */
  readonly paid?: Spent;
  /** @throws BadInputError when no valid request can be made; the other instances continue */
  request(): RunRequest | Promise<RunRequest>;
}

export interface SetOptions {
  /** Part of the runs' keys, so that repeating the command resumes. */
  readonly command: string;
  readonly out: string;
  /** Write the report of the only instance into `out` itself, next to the set's files. */
  readonly single?: boolean;
  /** Instances that were asked for and cannot be run. */
  readonly without?: readonly Skipped[];
  /** Maximum number of instances in progress at once. */
  readonly parallel: number;
  /** Read only once the selection of an instance is made; null = there are none. */
  readonly labels: () => Promise<LabelsByInstance | null>;
  /** Reuse the results of finished runs instead of running them again. */
  readonly once?: boolean;
  /** The first Ctrl-C starts no further instance and lets running ones finish; the second stops them. */
  readonly drains?: boolean;
  /** Runs first. @param leaving whether to start nothing more @returns the instances to run */
  readonly prepare?: (signal: AbortSignal, leaving: () => boolean) => Promise<readonly SetItem[]>;
  /** The reason to start no further instance; null = continue. */
  readonly stop?: (told: SetTold) => string | null;
}

/** The outcome of a set, in instances. */
export interface SetTold {
  instances: number;
  done: number;
  /** Done, but without a patch worth returning. */
  without: number;
  /** No valid request could be made. */
  skipped: number;
  /** Failed because of their environment. */
  failed: number;
  /** Number of failures by error code. */
  readonly reasons: Record<string, number>;
  /** Not started when the set was stopped. */
  not_begun: number;
  /** Candidates without a known label, of instances with labels. */
  unknown_labels: number;
  readonly spent: { tokens: number; usd: number };
}

/**
 * Runs a set of instances, each into a subfolder of `out`, and writes the set's files next to them. An instance that cannot be
 * done, or whose environment fails, is recorded in skipped.jsonl; the rest continues. Closes the application.
 * @throws InterruptedError
 */
export async function runSet(app: App, items: readonly SetItem[], options: SetOptions): Promise<SetTold> {
  const { out, single, without = [] } = options;
  const instances = items.length + without.length;
  const counts = { instances, done: 0, without: 0, skipped: without.length, failed: 0, not_begun: 0 };
  const told: SetTold = { ...counts, unknown_labels: 0, reasons: {}, spent: { tokens: 0, usd: 0 } };
  const files = new SetFiles(out, single);
  await files.begin();
  for (const each of without) await files.skip(each);
  const work: Work = { app, options, files, told, endings: [], phases: new Map(), leaving: false };
  try {
    const drain = (): void => {
      work.leaving = true;
    };
    const all = async (signal: AbortSignal): Promise<void> => {
      await allItems(work, (await options.prepare?.(signal, () => work.leaving)) ?? items, signal);
    };
    await untilInterrupted(app, all, options.drains === true ? drain : null);
  } catch (error) {
    await files.discard();
    throw error;
  }
  await files.finish();
  if (work.leaving) throw new InterruptedError();
  return told;
}

interface Work {
  readonly app: App;
  readonly options: SetOptions;
  readonly files: SetFiles;
  readonly told: SetTold;
  /** Times at which instances ended, in ms. */
  readonly endings: number[];
  /** Phases of the instances in progress. */
  readonly phases: Map<string, 'sampling' | 'verifying'>;
  /** Whether to start no further instance. */
  leaving: boolean;
}

async function allItems(work: Work, items: readonly SetItem[], signal: AbortSignal): Promise<void> {
  const { parallel } = work.options;
  const limit = pLimit(parallel);
  for (const { paid } of items) count(work.told, paid);
  const one = async (item: SetItem, index: number): Promise<void> => {
    fetchImage(work, items[index + parallel], signal);
    await runItem(work, item, signal);
  };
  await Promise.all(items.map((item, index) => limit(() => one(item, index))));
}

/** Fetches the image of a later instance; errors are ignored here and reported when the image is needed. */
function fetchImage({ app, leaving }: Work, item: SetItem | undefined, signal: AbortSignal): void {
  if (leaving || typeof item?.image !== 'string') return;
  void app.sandbox.describeImage(item.image, signal).catch(() => undefined);
}

export interface RequestOptions {
  readonly command: string;
  readonly out: string;
  /** Maximum number of instances in progress at once. */
  readonly parallel: number;
  /** File of labels, shown next to the selection. */
  readonly labels?: string;
  /** Issues that were asked for and cannot be run. */
  readonly without?: readonly Skipped[];
  readonly json?: boolean;
}

/**
 * Executes one request with its report in `out`, or several as a set; prints the outcome. @returns the exit code
 * @throws the run's own failure, InterruptedError, BadInputError for the labels before anything runs
 */
export async function runRequests(
  openApp: OpenApp,
  requests: readonly RunRequest[],
  { command, out, parallel, labels: file, without = [], json }: RequestOptions,
): Promise<number> {
  const labels = file === undefined ? null : await readLabels(file, () => candidatesIn(requests), printNote);
  const [request, ...others] = requests;
  if (request === undefined || others.length + without.length > 0) {
    const items = requests.map((each) => ({ instance_id: each.issue.instance_id, request: () => each }));
    const set = { command, out, parallel, labels: () => Promise.resolve(labels), without };
    return tellSet(await runSet(await openApp(), items, set), out, json === true);
  }
  const shown = labels === null ? null : labelsOf(labels, request.issue.instance_id, file ?? '');
  const finished = await runToEnd(await openApp(), `${command}:${contentKey(request)}`, request);
  await writeRun(out, finished);
  const { selection, statistics, usage, sampling } = finished.result;
  const sampled = sampling === null ? {} : { sampling };
  if (json === true) printJson({ ...selection, statistics, ...sampled, usage, out });
  else printText(selectSummary(finished.result, shown, out));
  return selection.candidate_id === null ? EXIT.noPatch : EXIT.done;
}

function candidatesIn(requests: readonly RunRequest[]): ImportLabels {
  const join = new ImportLabels();
  for (const each of requests.flatMap(({ candidates }) => candidates ?? []))
    join.candidate({ ...each, origin: { file: '' } });
  return join;
}

/** Prints the outcome of a set. @returns the exit code */
export function tellSet(told: SetTold, out: string, json: boolean, also: object = {}): number {
  const { done, without, not_begun } = told;
  if (json) printJson({ ...told, reasons: undefined, spent: undefined, ...also, out });
  else printText(summary(told, out));
  const code = exitOfSet(told);
  return code === EXIT.done && without === done && not_begun === 0 ? EXIT.noPatch : code;
}

export function exitOfSet({ done, failed }: SetTold): number {
  if (failed > 0) return EXIT.unavailable;
  return done === 0 ? EXIT.badInput : EXIT.done;
}

async function runItem(work: Work, item: SetItem, signal: AbortSignal): Promise<void> {
  const { options, files, told, leaving } = work;
  const { instance_id } = item;
  signal.throwIfAborted();
  const stopped = leaving ? 'it was stopped before' : options.stop?.(told);
  if (typeof stopped === 'string') {
    told.not_begun += 1;
    await files.skip({ instance_id, reason: stopped, code: 'not-begun' });
    return;
  }
  try {
    const candidate = await runToFolder(work, item, signal);
    printProgress(`${visibleLine(instance_id)}: ${visibleLine(candidate ?? 'none')} (${position(work)})`);
  } catch (error) {
    if (!(error instanceof BestkError) || error instanceof InterruptedError) throw error;
    count(work.told, spentOn(error), item.paid);
    await setAside(work, instance_id, error);
  }
}

/** Records an instance that could not be done. */
async function setAside(work: Work, instance_id: string, { code, exitCode, message }: BestkError): Promise<void> {
  const { told, files } = work;
  const what = exitCode === EXIT.badInput ? 'skipped' : 'failed';
  told[what] += 1;
  if (what === 'failed') told.reasons[code] = (told.reasons[code] ?? 0) + 1;
  await files.skip({ instance_id, reason: message, code });
  printProgress(`${visibleLine(instance_id)}: ${what}, ${visibleLine(message)} (${position(work)})`);
}

/** @returns the selected candidate */
async function runToFolder(work: Work, item: SetItem, signal: AbortSignal): Promise<string | null> {
  const { app, options, files, told, phases } = work;
  const { instance_id } = item;
  const request = await item.request();
  const key = `${options.command}:${contentKey(request)}`;
  phases.set(instance_id, request.candidates === null ? 'sampling' : 'verifying');
  const onEvent = ({ type }: RunEvent): void => {
    if (type === 'sampled') phases.set(instance_id, 'verifying');
  };
  const one = { key, request, onEvent, once: options.once };
  const run = await runOne(app, one, signal).finally(() => phases.delete(instance_id));
  const labels = await options.labels();
  const { entries } = poolOfRun(request, run.result);
  const unknown = await files.add(run, entries, labels?.get(instance_id) ?? null);
  told.unknown_labels += unknown;
  const { selection, usage } = run.result;
  told.done += 1;
  told.without += Number(selection.candidate_id === null);
  count(told, { tokens: tokensOfRun(usage), usd: usage.cost_usd }, item.paid);
  return selection.candidate_id;
}

/** @param before the part of `now` that is counted; what came to less failed before it knew of that part */
function count({ spent }: SetTold, now: Spent = NOTHING, before: Spent = NOTHING): void {
  if (now.tokens < before.tokens) return;
  spent.tokens += now.tokens - before.tokens;
  spent.usd += Math.max(0, (now.usd ?? 0) - (before.usd ?? 0));
}

const NOTHING: Spent = { tokens: 0, usd: 0 };

const PACE_OF = 60;

/** Progress of the set with its estimated time to completion. */
function position({ told, endings, phases }: Work): string {
  const { instances, done, without, skipped, failed, not_begun, reasons, spent } = told;
  const ended = done + skipped + failed;
  const left = instances - ended - not_begun;
  endings.push(Date.now());
  const sampling = [...phases.values()].filter((phase) => phase === 'sampling').length;
  return standingLine({
    states: {
      ...{ waiting: left - phases.size, sampling, verifying: phases.size - sampling },
      ...{ selected: done - without, 'without a patch': without, skipped },
    },
    failed: reasons,
    ...{ outcomes: null, tokens: spent.tokens, usd: spent.usd },
    eta: etaOf(endings.slice(-PACE_OF), left, Date.now()),
  });
}

function summary(told: SetTold, out: string): string {
  const { instances, done, without, skipped, failed, not_begun, unknown_labels } = told;
  const stopped = not_begun === 0 ? '' : `, ${not_begun} not begun`;
  const missing = skipped + failed === 0 ? '' : `, ${skipped} skipped, ${failed} failed (skipped.jsonl says why)`;
  const unknown = unknown_labels === 0 ? '' : `; the label of ${unknown_labels} candidates is unknown`;
  const none = without === 0 ? '' : `, ${without} of them without a patch worth returning`;
  return `${done} of ${instances} instances done${none}${missing}${stopped}${unknown}. Report: ${out}`;
}

/**
 * Executes a request to its end, with progress on stderr. An unfinished run of the same request is resumed; a finished one is
 * repeated from its stored results. SIGINT and SIGTERM cancel the run and remove its containers.
 * @throws the run's own failure, InterruptedError
 */
export function runToEnd(app: App, key: string, request: RunRequest): Promise<FinishedRun> {
  return untilInterrupted(app, (signal) => runOne(app, { key, request, onEvent: printEvent }, signal));
}

interface OneRun {
  readonly key: string;
  readonly request: RunRequest;
  readonly onEvent: (event: RunEvent) => void;
  /** Reuse the result of a finished run; absent = repeat it from its stored results. */
  readonly once?: boolean | undefined;
}

/** Executes one run to its end, as `runToEnd`; several may run at once. @throws the run's own failure, InterruptedError */
export async function runOne(
  app: App,
  { key, request, onEvent, once }: OneRun,
  signal: AbortSignal,
): Promise<FinishedRun> {
  // The settings are part of the key, since other settings give other results.
  const run = await startOrResume(app.runs, { key: `${key} ${await app.setup()}`, request, once });
  const waiting = (owner: string): void => {
    printProgress(
      `The same command is already running in process ${owner.split('/')[1] ?? ''}; this one waits for it.`,
    );
  };
  await app.worker.workAlone(run.id, signal, { told: onEvent, waiting }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (signal.aborted) {
    await app.runs.cancel(run.id).catch(() => undefined);
    throw new InterruptedError();
  }
  const ended = await app.runs.get(run.id);
  if (ended.failure !== null) throw new RunFailedError(ended.failure, ended.spent);
  if (ended.status !== 'done') throw new InterruptedError();
  return { id: run.id, createdAt: ended.created_at, request, result: RunResult.parse(ended.result) };
}

/** A finished run stays in the store; repeating the command adds another run, which starts from stored results. */
async function startOrResume(runs: RunService, { key, request, once }: Omit<OneRun, 'onEvent'>): Promise<Run> {
  for (let time = 1; ; time += 1) {
    const run = await runs.accept(`${key}#${time}`, request, { alone: true });
    if (run.status === 'done' && once !== true) continue;
    if (hasEnded(run.status) && run.status !== 'done') await runs.retry(run.id);
    return run;
  }
}

/** The request of an instance; empty if no valid one can be made. */
export async function askable(item: SetItem): Promise<readonly RunRequest[]> {
  try {
    return [await item.request()];
  } catch (error) {
    if (error instanceof BadInputError) return [];
    throw error;
  }
}
