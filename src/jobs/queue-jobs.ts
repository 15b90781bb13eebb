import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { abortable, pause } from '../core/async/time.js';
import { SingleFlight } from '../core/async/concurrency.js';
import { Failure, InterruptedError } from '../core/errors/errors.js';
import { QueueUnavailableError } from '../core/errors/unavailable.js';
import { type Job, JobFailedError, type JobHandler, Jobs, type Turn } from './jobs.js';
import type { QueueServer } from './queue-server.js';
import { type Envelope, noteKey, PACE, type Pace, queueName, type QueueTools, QueueWorker } from './queue-worker.js';
import { TRIES } from '../core/async/retries.js';

type Queue = InstanceType<QueueServer['Queue']>;

interface Waiting {
  readonly job: Job;
  readonly asked: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const LOOK_EVERY_MS = 200;
/** A queue may lose a job, so it is added again; adding one that is still queued changes nothing. */
const ASK_AGAIN_MS = 30_000;
const LEAVES_MS = 10_000;
const LEAVING_EVERY_MS = 50;
/** How long a count of processes is cached: every part of every run asks for it. */
const COUNTED_MS = 500;
/** Kept minimal, since they are not read: waiters poll the results. */
const EVENTS = 100;
/** Lowest priority of BullMQ; 1 is the highest. */
const LAST_PLACE = 2 ** 21 - 1;

/**
 * Jobs shared by many processes and delivered by BullMQ on PostgreSQL or Redis. BullMQ handles locks, stalled jobs,
 * retries, back-off and priorities. Results go through the ResultStore, which waiters poll.
 */
export class QueueJobs extends Jobs {
  private readonly queues = new Map<string, { readonly queue: Queue; readonly places: Places }>();
  private readonly counted = new Map<string, { readonly at: number; readonly workers: Promise<number> }>();
  private readonly flights = new SingleFlight<unknown>();
  private readonly waiting = new Map<string, Waiting>();
  private readonly closing = new AbortController();
  private readonly beating = new AbortController();
  /** Removals under way of cancelled jobs, by key: until they end, a job of the same key cannot be added. */
  private readonly leaving = new Map<string, Promise<void>>();
  private readonly pace: Pace;
  private workers: readonly QueueWorker[] = [];
  private quietUntil = 0;
  private isLooking = false;
  private isAway = false;
  /** Unreachable, not only slow; already logged. */
  private isSilent = false;
  private closed: Promise<void> | null = null;

  constructor(private readonly tools: QueueTools) {
    super();
    this.pace = tools.pace ?? PACE;
  }

  override async start(handlers: readonly JobHandler[]): Promise<void> {
    this.workers = handlers.map((handler) => new QueueWorker(handler, this.tools));
    await this.beat();
    this.goOn().catch(() => undefined);
  }

  override async submit(job: Job): Promise<void> {
    await this.add(job, '');
  }

  override async have<Result>(job: Job, result: z.ZodType<Result>, signal: AbortSignal): Promise<Result> {
    return result.parse(await this.flights.join(`${job.kind} ${job.key}`, signal, (asked) => this.await(job, asked)));
  }

  override async cancel(kind: string, key: string): Promise<void> {
    const isHere = this.workers.map((worker) => worker.stop(key)).includes(true);
    const gone: Promise<void> = this.remove(kind, key, isHere ? LEAVES_MS : 0).finally(() => {
      if (this.leaving.get(key) === gone) this.leaving.delete(key);
    });
    this.leaving.set(key, gone);
    if (!isHere) await gone;
  }

  /** An active job is locked: here until it has stopped, elsewhere for longer than this waits. Never rejects. */
  private async remove(kind: string, key: string, withinMs: number): Promise<void> {
    const { queue } = this.of(kind);
    const until = performance.now() + withinMs;
    const isThere = async (): Promise<boolean> => {
      await queue.remove(key);
      return (await queue.getJob(key)) !== undefined;
    };
    while ((await isThere().catch(() => false)) && performance.now() < until) await sleep(LEAVING_EVERY_MS);
  }

  override async others(setup = this.tools.setup): Promise<number> {
    const mine = setup === this.tools.setup && this.workers.length > 0 ? 1 : 0;
    const now = performance.now();
    let known = this.counted.get(setup);
    if (known === undefined || now - known.at >= COUNTED_MS) {
      known = { at: now, workers: this.patiently(() => this.of('run', setup).queue.getWorkersCount()) };
      this.counted.set(setup, known);
    }
    return (await known.workers) - mine;
  }

  override close(drainMs: number): Promise<void> {
    this.closed ??= this.end(drainMs);
    return this.closed;
  }

  private async end(drainMs: number): Promise<void> {
    this.closing.abort(new InterruptedError());
    await Promise.all(this.workers.map((worker) => worker.close(drainMs)));
    this.beating.abort();
    // Active jobs may have finished since the last look.
    await this.lookOnce();
    for (const { reject } of [...this.waiting.values()]) reject(new InterruptedError());
    await Promise.allSettled([...this.queues.values()].map(({ queue }) => queue.close()));
    await this.tools.server.close();
  }

  private async await(job: Job, signal: AbortSignal): Promise<unknown> {
    const known = await this.tools.results.get(job.key);
    if (known !== undefined) return known;
    AbortSignal.any([signal, this.closing.signal]).throwIfAborted();
    // While the server is unreachable, a caller that has left may still add the job: the notes are then under its `asked`.
    const asked = this.waiting.get(job.key)?.asked ?? randomUUID();
    const ended = new Promise<unknown>((resolve, reject) => {
      this.waiting.set(job.key, { job, asked, resolve, reject });
    });
    // It may fail while it is still being added here.
    ended.catch(() => undefined);
    const own = this.waiting.get(job.key);
    void this.look();
    try {
      await this.add(job, asked);
      return await abortable(ended, signal);
    } finally {
      // Otherwise another caller has asked for the same meanwhile: the job is theirs.
      if (this.waiting.get(job.key) === own) {
        this.waiting.delete(job.key);
        if (signal.aborted && !(signal.reason instanceof InterruptedError)) {
          await this.cancel(job.kind, job.key);
          await this.tools.results.put(noteKey('cancelled', job.key, asked), 'cancelled', true);
        }
      }
    }
  }

  private async add({ kind, key, payload, turn }: Job, asked: string): Promise<void> {
    const { queue, places } = this.of(kind);
    await this.leaving.get(key);
    const envelope: Envelope = { payload: JSON.stringify(payload), asked };
    await this.patiently(async () =>
      queue.add(kind, envelope, {
        jobId: key,
        priority: await places.next(turn),
        attempts: TRIES,
        backoff: { type: 'exponential', delay: this.pace.backOffMs },
        removeOnComplete: true,
        removeOnFail: true,
      }),
    );
  }

  /** Waits while the server is unreachable. @throws QueueUnavailableError if it answers but keeps refusing the call */
  private async patiently<T>(ask: () => Promise<T>): Promise<T> {
    for (let refused = 0; ;) {
      try {
        return await ask();
      } catch (error) {
        const answers = await this.tools.server.ask().then(
          () => true,
          () => false,
        );
        if (answers && ++refused === TRIES) throw new QueueUnavailableError(String(error), { cause: error });
        await pause(this.pace.beatMs, this.closing.signal);
      }
    }
  }

  /** Polls for all awaited results at once, until there are none; unless that is under way. */
  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    for (let again = performance.now() + ASK_AGAIN_MS; this.waiting.size > 0; await sleep(LOOK_EVERY_MS, null)) {
      await this.lookOnce();
      if (performance.now() < again) continue;
      again = performance.now() + ASK_AGAIN_MS;
      for (const { job, asked } of this.waiting.values()) void this.add(job, asked).catch(() => undefined);
    }
    this.isLooking = false;
  }

  private async lookOnce(): Promise<void> {
    const waiting = [...this.waiting.values()];
    const keys = waiting.flatMap(({ job, asked }) => [job.key, noteKey('failed', job.key, asked)]);
    // An unreachable store is waited for; the workers do the same.
    const found = await this.tools.results.getAll(keys).catch(() => new Map<string, unknown>());
    for (const { job, asked, resolve, reject } of waiting) {
      const failure = Failure.safeParse(found.get(noteKey('failed', job.key, asked))).data;
      if (found.has(job.key)) resolve(found.get(job.key));
      else if (failure !== undefined) reject(new JobFailedError(failure));
    }
  }

  /** Renews the locks of active jobs until they have ended, also during closing. Rejects when that is done. */
  private async goOn(): Promise<never> {
    for (;;) {
      await pause(this.pace.beatMs, this.beating.signal);
      await this.beat();
    }
  }

  /** Never rejects: waits while the server is unreachable. */
  private async beat(): Promise<void> {
    const { server, log } = this.tools;
    const start = performance.now();
    try {
      const jumped = await server.ask();
      if (jumped || this.isAway) this.quietUntil = performance.now() + this.pace.quietMs;
      for (const worker of this.workers) await worker.beat(performance.now() > this.quietUntil);
      this.tools.claims.renewed(start + this.pace.lockMs);
      if (this.isSilent) log.warn('The queue responds again.');
      this.isSilent = false;
      this.isAway = performance.now() - start > this.pace.beatMs;
    } catch (error) {
      if (!this.isSilent) log.warn(`The queue is not reachable; work resumes when it is: ${String(error)}`);
      this.isSilent = true;
      this.isAway = true;
    }
  }

  private of(kind: string, setup = this.tools.setup): { readonly queue: Queue; readonly places: Places } {
    const name = queueName(kind, setup);
    const known = this.queues.get(name);
    if (known !== undefined) return known;
    const { server } = this.tools;
    const queue = new server.Queue(name, { ...server.options, streams: { events: { maxLen: EVENTS } } });
    // Reported by the calls that fail.
    queue.on('error', () => undefined);
    const fresh = { queue, places: new Places(async () => (await queue.getPrioritized(0, 0))[0]?.priority ?? 0) };
    this.queues.set(name, fresh);
    return fresh;
  }
}

/** How long the front of a queue is cached. */
const FRONT_MS = 250;

/**
 * Assigns priorities so that lines take turns: the next job of a line is placed one turn after its last one, and never
 * before the current front. A line that shares its turn with others takes longer steps.
 */
class Places {
  private readonly last = new Map<string, number>();
  private front = 0;
  private readAt = Number.NEGATIVE_INFINITY;
  private reading: Promise<void> = Promise.resolve();

  /** @param first the place of the queue's front, 0 when it is empty */
  constructor(private readonly first: () => Promise<number>) {}

  async next({ line, of }: Turn): Promise<number> {
    if (performance.now() - this.readAt > FRONT_MS) {
      this.readAt = performance.now();
      this.reading = this.read();
    }
    await this.reading;
    const place = Math.min(Math.max(this.front, this.last.get(line) ?? 0) + of, LAST_PLACE);
    this.last.set(line, place);
    return place;
  }

  private async read(): Promise<void> {
    const front = await this.first();
    // Places grow until the queue is empty, and then restart.
    const isNew = front < this.front || front === 0;
    for (const [line, place] of this.last) if (isNew || place <= front) this.last.delete(line);
    this.front = front;
  }
}
