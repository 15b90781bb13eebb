import type { z } from 'zod';
import { pause } from '../core/async/time.js';
import { FairSemaphore, SingleFlight } from '../core/async/concurrency.js';
import { InterruptedError } from '../core/errors/errors.js';
import type { ResultStore } from '../ports/result-store.js';
import { type Job, type JobHandler, Jobs, notNowMs, perform, type Work } from './jobs.js';
import { retryAfterMs } from '../core/async/retries.js';

const LOOK_EVERY_MS = 1_000;
/** How long aborted work may take to stop. */
const GRACE_MS = 10_000;

interface Served {
  readonly handler: JobHandler;
  readonly places: FairSemaphore;
}

interface Submitted {
  readonly stop: AbortController;
  /** Submitted again while under way: its input may have changed since it began. */
  again: boolean;
}

/**
 * Jobs as calls in this process, with one limit per kind: no rows, no polling. Queued jobs are lost when the process
 * ends.
 */
export class PlainJobs extends Jobs {
  private readonly flights = new SingleFlight<unknown>();
  private readonly submitted = new Map<string, Submitted>();
  private readonly underWay = new Map<string, Promise<unknown>>();
  private readonly closing = new AbortController();
  private readonly stopping = new AbortController();
  private readonly served = new Map<string, Served>();
  private open: () => void = () => undefined;
  private readonly opened = new Promise<void>((resolve) => (this.open = resolve));

  /** @param failed receives the error of a submitted job, for which no caller waits */
  constructor(
    private readonly results: ResultStore,
    private readonly failed: (job: Job, error: unknown) => void,
  ) {
    super();
  }

  override start(handlers: readonly JobHandler[]): Promise<void> {
    for (const handler of handlers) {
      const places = new FairSemaphore(handler.atOnce, handler.atOnceOfLine);
      this.served.set(handler.kind, { handler, places });
    }
    this.open();
    return Promise.resolve();
  }

  override submit(job: Job): Promise<void> {
    const id = idOf(job);
    const known = this.submitted.get(id);
    if (known !== undefined) known.again = true;
    else if (!this.closing.signal.aborted) this.begin(id, job);
    return Promise.resolve();
  }

  override async have<Result>(job: Job, result: z.ZodType<Result>, signal: AbortSignal): Promise<Result> {
    return result.parse(await this.join(job, signal));
  }

  override cancel(kind: string, key: string): Promise<void> {
    const id = idOf({ kind, key });
    this.submitted.get(id)?.stop.abort(new InterruptedError());
    this.submitted.delete(id);
    return Promise.resolve();
  }

  override others(): Promise<number> {
    return Promise.resolve(0);
  }

  override async close(drainMs: number): Promise<void> {
    this.closing.abort(new InterruptedError());
    const ended = Promise.allSettled(this.underWay.values());
    await atMost(drainMs, ended);
    this.stopping.abort(new InterruptedError());
    await atMost(GRACE_MS, ended);
  }

  private begin(id: string, job: Job): void {
    const submitted = { stop: new AbortController(), again: false };
    this.submitted.set(id, submitted);
    const ended = this.join(job, submitted.stop.signal).catch((error: unknown) => {
      if (!(error instanceof InterruptedError)) this.failed(job, error);
    });
    void ended.then(() => {
      if (this.submitted.get(id) !== submitted) return;
      this.submitted.delete(id);
      if (submitted.again) void this.submit(job);
    });
  }

  private join(job: Job, signal: AbortSignal): Promise<unknown> {
    return this.flights.join(idOf(job), signal, (asked) => this.toEnd(job, asked));
  }

  private async toEnd(job: Job, asked: AbortSignal): Promise<unknown> {
    const mayWait = AbortSignal.any([asked, this.closing.signal]);
    await this.opened;
    const { handler, places } = this.servedBy(job.kind);
    for (let attempt = 1; ;) {
      // A cancelled execution may still be stopping.
      await this.underWay.get(idOf(job))?.catch(() => undefined);
      while ((await handler.mayBegin?.()) === false) await pause(LOOK_EVERY_MS, mayWait);
      const leave = await places.take(mayWait, job.turn.line);
      const signal = AbortSignal.any([asked, this.stopping.signal]);
      try {
        return await this.once(handler, job, { key: job.key, attempt, signal });
      } catch (error) {
        signal.throwIfAborted();
        const afterMs = notNowMs(error) ?? retryAfterMs(error, attempt);
        if (afterMs === null) throw error;
        if (notNowMs(error) === null) attempt += 1;
        leave();
        await pause(afterMs, mayWait);
      } finally {
        leave();
      }
    }
  }

  private async once(handler: JobHandler, job: Job, work: Work): Promise<unknown> {
    const done = perform(handler, job, this.results, work);
    this.underWay.set(idOf(job), done);
    try {
      return await done;
    } finally {
      this.underWay.delete(idOf(job));
    }
  }

  private servedBy(kind: string): Served {
    const served = this.served.get(kind);
    if (served === undefined) throw new Error(`Nobody does jobs of the kind "${kind}".`);
    return served;
  }
}

function idOf({ kind, key }: Pick<Job, 'kind' | 'key'>): string {
  return `${kind} ${key}`;
}

/** Waits for `work`, but no longer than `ms`. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, Math.max(0, ms))));
  await Promise.race([work, over]);
  clearTimeout(timer);
}
