import { DelayedError, type Job as Delivery, UnrecoverableError, WaitingError } from 'bullmq';
import { z } from 'zod';
import type { Claims } from '../core/async/concurrency.js';
import { contentKey } from '../core/identifier.js';
import { type Failure, failureOf, InterruptedError, stackOf, UnavailableError } from '../core/errors/errors.js';
import type { ResultStore } from '../ports/result-store.js';
import { type JobHandler, LOST, MOST_LOST, notNowMs, perform } from './jobs.js';
import { atMost } from './plain-jobs.js';
import type { QueueServer } from './queue-server.js';
import { retryAfterMs } from '../core/async/retries.js';

/** Data of a queued job: JSON as text, because PostgreSQL's JSON type accepts neither NUL nor lone surrogates. */
export const Envelope = z.object({
  payload: z.string(),
  /** Identifies the request, so that its caller sees this failure and no earlier one. */
  asked: z.string(),
});
export type Envelope = z.infer<typeof Envelope>;
/** A payload that every handler rejects. */
const UNREADABLE = { payload: '"unreadable"', asked: '' };

export interface QueueTools {
  readonly server: QueueServer;
  readonly results: ResultStore;
  /** Identifies the settings: processes with other settings have separate queues. */
  readonly setup: string;
  /** Notified when locks are renewed. */
  readonly claims: Claims;
  readonly log: { warn(message: string): void; error(message: string): void };
  /** Shorter in tests. */
  readonly pace?: Pace;
}

export interface Pace {
  readonly beatMs: number;
  /** Longer than two beats: the jobs of a dead process pass to another within two more beats. */
  readonly lockMs: number;
  /** How long this process pauses after a failure, so that others can try first. */
  readonly restMs: number;
  /** Before the first retry; doubles with each further one. */
  readonly backOffMs: number;
  /** After the server was unreachable or its clock jumped: others may have been unable to renew their locks. */
  readonly quietMs: number;
}

export const PACE: Pace = { beatMs: 2_000, lockMs: 6_000, restMs: 3_000, backOffMs: 1_000, quietMs: 5_000 };
const GRACE_MS = 10_000;

export function queueName(kind: string, setup: string): string {
  return `bestk.${kind}.${setup}`;
}

/** Key of a note between a job's caller and its worker: the job failed, or is no longer wanted. */
export function noteKey(note: 'failed' | 'cancelled', key: string, asked: string): string {
  return contentKey([note, key, asked]);
}

interface Active {
  readonly token: string;
  readonly asked: string;
  readonly stop: AbortController;
}

/** Takes the jobs of one kind. */
export class QueueWorker {
  private readonly worker: InstanceType<QueueServer['Worker']>;
  private readonly active = new Map<string, Active>();
  private readonly pace: Pace;
  private restsUntil = 0;
  private isClosing = false;

  constructor(
    private readonly handler: JobHandler,
    private readonly tools: QueueTools,
  ) {
    const { server, setup, pace = PACE } = tools;
    this.pace = pace;
    this.worker = new server.Worker(
      queueName(handler.kind, setup),
      (delivery: Delivery, token = '') => this.work(delivery, token),
      {
        ...server.options,
        concurrency: handler.atOnce,
        lockDuration: pace.lockMs,
        stalledInterval: pace.beatMs,
        maxStalledCount: MOST_LOST,
        // Both use the wall clock, which may jump; `beat` does them instead.
        skipLockRenewal: true,
        skipStalledCheck: true,
        runRetryDelay: 1_000,
        autorun: false,
      },
    );
    // `QueueJobs.beat` reports an unreachable server.
    this.worker.on('error', () => undefined);
    this.worker.on('failed', (delivery, error) => {
      if (delivery !== undefined && /stalled more than/.test(error.message)) void this.tell(delivery, LOST);
    });
  }

  /** Renews the locks of active jobs; requeues stalled jobs of others unless those may have been unable to renew. */
  async beat(takesOver: boolean): Promise<void> {
    const held = new Map(this.active);
    const tokens = [...held.values()].map(({ token }) => token);
    const lost = held.size === 0 ? [] : await this.worker.extendJobLocks([...held.keys()], tokens, this.pace.lockMs);
    for (const id of [...lost, ...(await this.cancelled(held))]) held.get(id)?.stop.abort(new InterruptedError());
    if (takesOver) await this.worker.getBackend().moveStalledJobsToWait();
    const rests = performance.now() < this.restsUntil || (await this.handler.mayBegin?.()) === false;
    if (!this.isClosing) await this.take(!rests);
  }

  private async take(takes: boolean): Promise<void> {
    const { worker } = this;
    if (!takes) await worker.pause(true);
    else if (worker.isPaused()) await worker.resume();
    // The error listener receives the same errors.
    else if (!worker.isRunning()) void worker.run().catch(() => undefined);
  }

  private async cancelled(held: ReadonlyMap<string, Active>): Promise<readonly string[]> {
    const keys = new Map([...held].map(([id, { asked }]) => [noteKey('cancelled', id, asked), id]));
    const found = keys.size === 0 ? new Map() : await this.tools.results.getAll([...keys.keys()]);
    return [...keys].flatMap(([key, id]) => (found.has(key) ? [id] : []));
  }

  /** @returns whether it was under way in this process */
  stop(id: string): boolean {
    const active = this.active.get(id);
    active?.stop.abort(new InterruptedError());
    return active !== undefined;
  }

  /** Takes no more jobs, lets active ones continue for `drainMs`, then stops the rest and returns them to the queue. */
  async close(drainMs: number): Promise<void> {
    this.isClosing = true;
    await this.worker.pause(true);
    const late = setTimeout(() => {
      for (const id of this.active.keys()) this.stop(id);
    }, drainMs);
    await atMost(drainMs + GRACE_MS, this.worker.close());
    clearTimeout(late);
  }

  private async work(delivery: Delivery, token: string): Promise<void> {
    const { id = '', attemptsMade, stalledCounter } = delivery;
    const stop = new AbortController();
    const { asked, payload: text } = Envelope.catch(UNREADABLE).parse(delivery.data);
    // Its lock was lost, and the job came back here before the next beat.
    this.stop(id);
    const active = { token, asked, stop };
    this.active.set(id, active);
    const attempt = attemptsMade + stalledCounter + 1;
    try {
      const payload: unknown = JSON.parse(text);
      const job = { kind: this.handler.kind, key: id, payload };
      await perform(this.handler, job, this.tools.results, { key: id, attempt, signal: stop.signal });
    } catch (error) {
      if (stop.signal.aborted || error instanceof InterruptedError) await this.giveBack(delivery, token);
      const laterMs = notNowMs(error);
      if (laterMs !== null) {
        await delivery.moveToDelayed(Date.now() + laterMs, token);
        throw new DelayedError();
      }
      if (retryAfterMs(error, attemptsMade + 1) === null) await this.fail(delivery, error);
      if (error instanceof UnavailableError) this.rest();
      throw error;
    } finally {
      if (this.active.get(id) === active) this.active.delete(id);
    }
  }

  /** When closing, returns a stopped job to the queue; otherwise it was cancelled, or another process has it. */
  private async giveBack(delivery: Delivery, token: string): Promise<never> {
    if (!this.isClosing) throw new UnrecoverableError('It was stopped.');
    await delivery.moveToWait(token);
    throw new WaitingError();
  }

  private async fail(delivery: Delivery, error: unknown): Promise<never> {
    const { kind } = this.handler;
    const failure = failureOf(error, `A job of the kind "${kind}" (${delivery.id ?? ''})`);
    if (failure.code === 'internal') this.tools.log.error(`${failure.message} ${stackOf(error)}`);
    await this.tell(delivery, failure);
    throw new UnrecoverableError(failure.message);
  }

  private async tell({ id = '', data }: Delivery, failure: Failure): Promise<void> {
    const asked = Envelope.safeParse(data).data?.asked ?? '';
    await this.tools.results.put(noteKey('failed', id, asked), 'failure', failure);
  }

  private rest(): void {
    this.restsUntil = performance.now() + this.pace.restMs;
    void this.worker.pause(true);
  }
}
