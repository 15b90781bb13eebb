import pLimit from 'p-limit';
import { contentKey } from '../core/fingerprint.js';
import { BadInputError, BestkError, EXIT, InterruptedError } from '../core/errors/errors.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { LabelsByInstance } from '../reports/labels.js';
import { visibleLine } from '../core/visible.js';
import { SetFiles } from '../reports/set-files.js';
import { poolOfRun } from '../runs/entries.js';
import { printJson, printProgress, printText } from './answer.js';
import type { App } from './app.js';
import { runOne, untilInterrupted } from './run-to-end.js';

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
  readonly json: boolean;
  /** Told beside the counts. */
  readonly also?: (done: number) => object;
}

interface Told {
  done: number;
  without: number;
  skipped: number;
  failed: number;
}

/**
 * Runs a set of instances, each into its own folder below `out`, and the set's files beside them. One that cannot be done, or
 * whose surroundings fail, is told in skipped.jsonl, and the rest goes on.
 * @returns the exit code
 * @throws InterruptedError
 */
export async function runSet(app: App, items: readonly SetItem[], options: SetOptions): Promise<number> {
  const { out, json } = options;
  const told: Told = { done: 0, without: 0, skipped: 0, failed: 0 };
  const files = new SetFiles(out);
  await files.begin();
  await untilInterrupted(app, async (signal) => {
    const limit = pLimit(options.parallel);
    const one = (item: SetItem): Promise<void> => runItem({ app, item, options, files, told }, items.length, signal);
    await Promise.all(items.map((item) => limit(() => one(item))));
  });
  await files.finish();
  if (json) printJson({ instances: items.length, ...told, ...options.also?.(told.done), out });
  else printText(summary(items.length, told, out));
  if (told.failed > 0) return EXIT.unavailable;
  return told.done === 0 ? EXIT.badInput : EXIT.done;
}

interface Work {
  readonly app: App;
  readonly item: SetItem;
  readonly options: SetOptions;
  readonly files: SetFiles;
  readonly told: Told;
}

async function runItem({ app, item, options, files, told }: Work, of: number, signal: AbortSignal): Promise<void> {
  const { instance_id } = item;
  signal.throwIfAborted();
  try {
    const request = await item.request();
    const key = `${options.command}:${contentKey(request)}`;
    const run = await runOne(app, { key, request, onEvent: () => undefined }, signal);
    const labels = await options.labels();
    await files.add(run, poolOfRun(request, run.result).entries, labels?.get(instance_id) ?? null);
    const { candidate_id } = run.result.selection;
    told.done += 1;
    told.without += Number(candidate_id === null);
    printProgress(`${visibleLine(instance_id)}: ${visibleLine(candidate_id ?? 'none')} (${told.done} of ${of})`);
  } catch (error) {
    if (!(error instanceof BestkError) || error instanceof InterruptedError) throw error;
    const isWrong = error instanceof BadInputError || error.exitCode === EXIT.badInput;
    told[isWrong ? 'skipped' : 'failed'] += 1;
    await files.skip({ instance_id, reason: error.message, code: error.code });
    printProgress(`${visibleLine(instance_id)}: ${isWrong ? 'skipped' : 'failed'}, ${visibleLine(error.message)}`);
  }
}

function summary(instances: number, { done, without, skipped, failed }: Told, out: string): string {
  const missing = skipped + failed === 0 ? '' : `, ${skipped} skipped, ${failed} failed (skipped.jsonl says why)`;
  const none = without === 0 ? '' : `, ${without} of them without a patch worth returning`;
  return `${done} of ${instances} instances done${none}${missing}. Report: ${out}`;
}
