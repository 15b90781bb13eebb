import { InterruptedError, ToldError } from '../core/errors/errors.js';
import type { RunRequest } from '../core/run/run-request.js';
import { RunResult } from '../core/run/run-result.js';
import type { RunService } from '../runs/run-service.js';
import { hasEnded, type Run, type RunEvent } from '../ports/run-store.js';
import type { FinishedRun } from '../reports/write-run.js';
import { printProgress } from './answer.js';
import type { App } from './app.js';
import { progressLine } from './progress.js';

/**
 * Runs a request and waits for its end, telling progress on stderr. A run of the same request that was left unfinished
 * is taken up where it stopped; one that ended is done again from its stored results. SIGINT and SIGTERM cancel the run
 * and remove its containers.
 * @throws the run's own failure, InterruptedError
 */
export function runToEnd(app: App, key: string, request: RunRequest): Promise<FinishedRun> {
  return untilInterrupted(app, (signal) => runOne(app, { key, request, onEvent: tell }, signal));
}

/**
 * Does some work with the application and closes it; SIGINT and SIGTERM abort the signal.
 * @param drain told by the first SIGINT, which then lets the work end by itself; null = it aborts
 */
export async function untilInterrupted<T>(
  app: App,
  work: (signal: AbortSignal) => Promise<T>,
  drain: (() => void) | null = null,
): Promise<T> {
  const interrupted = new AbortController();
  const interrupt = (): void => {
    printProgress('Interrupted: removing containers. The same command goes on where it stopped.');
    interrupted.abort(new InterruptedError());
  };
  const first = (): void => {
    if (drain === null) {
      interrupt();
      return;
    }
    printProgress('Nothing more is begun, and what is under way goes on to its end. Ctrl-C again stops that, too.');
    drain();
    process.once('SIGINT', interrupt);
  };
  process.once('SIGINT', first).once('SIGTERM', interrupt);
  try {
    return await work(interrupted.signal);
  } finally {
    process.off('SIGINT', first).off('SIGINT', interrupt).off('SIGTERM', interrupt);
    await app.close();
  }
}

interface OneRun {
  readonly key: string;
  readonly request: RunRequest;
  readonly onEvent: (event: RunEvent) => void;
  /** One that is done is taken as it is; absent = it is done again from its stored results. */
  readonly once?: boolean | undefined;
}

/** One run to its end, as `runToEnd`; several may be under way. @throws the run's own failure, InterruptedError */
export async function runOne(
  app: App,
  { key, request, onEvent, once }: OneRun,
  signal: AbortSignal,
): Promise<FinishedRun> {
  // Under other settings the same request finds something else.
  const run = await startOrResume(app.runs, { key: `${key} ${await app.setup()}`, request, once });
  const waiting = (owner: string): void => {
    printProgress(`The same command is under way in process ${owner.split('/')[1] ?? ''}; this one waits for it.`);
  };
  await app.worker.workAlone(run.id, signal, { told: onEvent, waiting }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (signal.aborted) {
    await app.runs.cancel(run.id).catch(() => undefined);
    throw new InterruptedError();
  }
  const ended = await app.runs.get(run.id);
  if (ended.failure !== null) throw new ToldError(ended.failure);
  if (ended.status !== 'done') throw new InterruptedError();
  return { id: run.id, createdAt: ended.created_at, request, result: RunResult.parse(ended.result) };
}

/** An ended run keeps its place in the store; doing the same again is a further one, which starts from stored results. */
async function startOrResume(runs: RunService, { key, request, once }: Omit<OneRun, 'onEvent'>): Promise<Run> {
  for (let time = 1; ; time += 1) {
    const run = await runs.accept(`${key}#${time}`, request, { alone: true });
    if (run.status === 'done' && once !== true) continue;
    if (hasEnded(run.status) && run.status !== 'done') await runs.retry(run.id);
    return run;
  }
}

function tell(event: RunEvent): void {
  const line = progressLine(event);
  if (line !== null) printProgress(line);
}
