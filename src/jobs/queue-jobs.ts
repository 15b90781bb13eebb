import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { abortable, pause, TRIES } from '../core/async/time.js';
import { SingleFlight } from '../core/async/concurrency.js';
import { Failure, InterruptedError } from '../core/errors/errors.js';
import { QueueUnavailableError } from '../core/errors/unavailable.js';
import { type Job, JobFailedError, type JobHandler, Jobs, type Turn } from './jobs.js';
import type { QueueServer } from './queue-server.js';
import { type Envelope, noteKey, PACE, type Pace, queueName, type QueueTools, QueueWorker } from './queue-worker.js';

type Queue = InstanceType<QueueServer['Queue']>;

interface Waiting {
  readonly job: Job;
  readonly asked: string;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

const LOOK_EVERY_MS = 200;
/** A queue may lose a job; asking again for one that is there changes nothing. */
const ASK_AGAIN_MS = 30_000;
const LEAVES_MS = 10_000;
const LEAVING_EVERY_MS = 50;
/** How long a number of processes is believed: every part of every run asks for it. */
const COUNTED_MS = 500;
/** Nobody reads them: results tell who waits. */
const EVENTS = 100;
/** Of BullMQ; 1 is first. */
const LAST_PLACE = 2 ** 21 - 1;

/**
 * Jobs that many processes share, delivered by BullMQ on PostgreSQL or Redis. Locks, stalled jobs, retries, back-off and
 * priorities are BullMQ's. Results go through the ResultStore, where who waits looks for them.
 */
export class QueueJobs extends Jobs {
  private readonly queues = new Map<string, { readonly queue: Queue; readonly places: Places }>();
  private readonly counted = new Map<string, { readonly at: number; readonly workers: Promise<number> }>();
  private readonly flights = new SingleFlight<unknown>();
  private readonly waiting = new Map<string, Waiting>();
  private readonly closing = new AbortController();
  private readonly beating = new AbortController();
  /** Jobs that were cancelled here and may still be in the queue, by key: one of that key would not be added. */
  private readonly leaving = new Map<string, Promise<void>>();
  private readonly pace: Pace;
  private workers: readonly QueueWorker[] = [];
  private quietUntil = 0;
  private isAway = false;
  /** Away, and not only slow; it was told. */
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
    const gone = this.remove(kind, key, isHere ? LEAVES_MS : 0).finally(() => this.leaving.delete(key));
    this.leaving.set(key, gone);
    if (!isHere) await gone;
  }

  /** One that is worked on is locked: here until it has stopped, elsewhere for longer than this waits. Never rejects. */
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
    // What was still under way may have come to its end.
    await this.lookOnce();
    for (const { reject } of [...this.waiting.values()]) reject(new InterruptedError());
    await Promise.allSettled([...this.queues.values()].map(({ queue }) => queue.close()));
    await this.tools.server.close();
  }

  private async await(job: Job, signal: AbortSignal): Promise<unknown> {
    const known = await this.tools.results.get(job.key);
    if (known !== undefined) return known;
    AbortSignal.any([signal, this.closing.signal]).throwIfAborted();
    const asked = randomUUID();
    const ended = new Promise<unknown>((resolve, reject) => {
      this.waiting.set(job.key, { job, asked, resolve, reject });
    });
    if (this.waiting.size === 1) void this.look();
    try {
      await this.add(job, asked);
      return await abortable(ended, signal);
    } finally {
      this.waiting.delete(job.key);
      if (signal.aborted && !(signal.reason instanceof InterruptedError)) {
        await this.cancel(job.kind, job.key);
        await this.tools.results.put(noteKey('cancelled', job.key, asked), 'cancelled', true);
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

  /** A server that is away is waited for. @throws QueueUnavailableError for what it refuses, though it answers */
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

  /** Looks for what is waited for, all at once, until nothing is. */
  private async look(): Promise<void> {
    for (let again = performance.now() + ASK_AGAIN_MS; this.waiting.size > 0; await sleep(LOOK_EVERY_MS, null)) {
      await this.lookOnce();
      if (performance.now() < again) continue;
      again = performance.now() + ASK_AGAIN_MS;
      for (const { job, asked } of this.waiting.values()) void this.add(job, asked).catch(() => undefined);
    }
  }

  private async lookOnce(): Promise<void> {
    const waiting = [...this.waiting.values()];
    const keys = waiting.flatMap(({ job, asked }) => [job.key, noteKey('failed', job.key, asked)]);
    // A store that is away is waited for; who works finds the same.
    const found = await this.tools.results.getAll(keys).catch(() => new Map<string, unknown>());
    for (const { job, asked, resolve, reject } of waiting) {
      const failure = Failure.safeParse(found.get(noteKey('failed', job.key, asked))).data;
      if (found.has(job.key)) resolve(found.get(job.key));
      else if (failure !== undefined) reject(new JobFailedError(failure));
    }
  }

  /** What is under way keeps its locks until it has ended, while all is being closed, too. Rejects when that is done. */
  private async goOn(): Promise<never> {
    for (;;) {
      await pause(this.pace.beatMs, this.beating.signal);
      await this.beat();
    }
  }

  /** Never rejects: a server that is away is waited for. */
  private async beat(): Promise<void> {
    const { server, log } = this.tools;
    const start = performance.now();
    try {
      const jumped = await server.ask();
      if (jumped || this.isAway) this.quietUntil = performance.now() + this.pace.quietMs;
      for (const worker of this.workers) await worker.beat(performance.now() > this.quietUntil);
      this.tools.claims.renewed(start + this.pace.lockMs);
      if (this.isSilent) log.warn('The queue answers again.');
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
    // Told by whoever asks it something.
    queue.on('error', () => undefined);
    const fresh = { queue, places: new Places(async () => (await queue.getPrioritized(0, 0))[0]?.priority ?? 0) };
    this.queues.set(name, fresh);
    return fresh;
  }
}

/** How long what is first in a queue is believed to be. */
const FRONT_MS = 250;

/**
 * Gives jobs their places, so that lines take turns: the next of a line is one turn behind its last, and never before what is
 * first now. A line that shares its turn with others takes longer steps.
 */
class Places {
  private readonly last = new Map<string, number>();
  private front = 0;
  private readAt = Number.NEGATIVE_INFINITY;
  private reading: Promise<void> = Promise.resolve();

  /** @param first the place of what is first in the queue, 0 when nothing waits */
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
    // Places grow until nothing waits, and then begin anew.
    const isNew = front < this.front || front === 0;
    for (const [line, place] of this.last) if (isNew || place <= front) this.last.delete(line);
    this.front = front;
  }
}
