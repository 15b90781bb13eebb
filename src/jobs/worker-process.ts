import { type ChildProcess, fork } from 'node:child_process';
import { constants, getPriority, setPriority } from 'node:os';
import { z } from 'zod';
import { abortable, pause } from '../core/async/time.js';
import { type Failure, failureOf, InterruptedError } from '../core/errors/errors.js';
import { type Job, JobFailedError, Jobs } from './jobs.js';

/** Messages from a service to its worker process; with an `id` if it waits for an answer. */
type Order =
  | { readonly say: 'submit'; readonly job: Job }
  | { readonly say: 'cancel'; readonly kind: string; readonly key: string }
  | { readonly say: 'stop' }
  | { readonly say: 'leave'; readonly id: number }
  | { readonly say: 'have'; readonly id: number; readonly job: Job }
  | { readonly say: 'metrics'; readonly id: number };

/** Messages from the worker process to its service. */
export type Report =
  | { readonly say: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly say: 'failure'; readonly id: number; readonly failure: Failure };

/** A worker that ended is restarted, after a growing delay if it ended soon. */
const FIRST_BACK_OFF_MS = 200;
const LAST_BACK_OFF_MS = 10_000;
const SOON_MS = 60_000;

/**
 * A child process that does the work of a service, which keeps the service's own thread free for requests. It is
 * restarted when it ends, ends with its parent however that ends, and begins by looking for open work, so nothing is
 * lost with it.
 */
export class WorkerProcess {
  private readonly asked = new Map<number, (report: Report | null) => void>();
  private readonly closing = new AbortController();
  private child: ChildProcess | null = null;
  private lastId = 0;
  private backOffMs = FIRST_BACK_OFF_MS;

  /** @param program the module to run, and its arguments */
  constructor(
    private readonly program: readonly [string, ...string[]],
    private readonly log: { warn(message: string): void },
  ) {}

  start(): void {
    const started = performance.now();
    const [file, ...args] = this.program;
    const child = fork(file, args, { serialization: 'advanced' });
    this.child = child;
    comeSecond(child);
    child.on('message', (report: Report) => {
      this.asked.get(report.id)?.(report);
    });
    let error: string | null = null;
    child.on('error', ({ message }) => (error = message));
    // A child that cannot be spawned never exits, but closes.
    child.once('close', (code, signal) => void this.goOn(performance.now() - started, error ?? signal ?? code));
  }

  say(order: Order): void {
    if (this.child?.connected === true) this.child.send(order, () => undefined);
  }

  /**
   * @throws JobFailedError, InterruptedError if the worker process ends before it has answered, and the signal's reason
   */
  async ask(order: (id: number) => Order, signal: AbortSignal): Promise<unknown> {
    if (this.child?.connected !== true) throw new InterruptedError('The worker process is not running.');
    const id = (this.lastId += 1);
    const answer = new Promise<unknown>((resolve, reject) => {
      this.asked.set(id, (report) => {
        if (report?.say === 'answer') resolve(report.value);
        else reject(report === null ? new InterruptedError() : new JobFailedError(report.failure));
      });
    });
    this.say(order(id));
    try {
      return await abortable(answer, signal);
    } finally {
      this.asked.delete(id);
      if (signal.aborted) this.say({ say: 'leave', id });
    }
  }

  /** Stops it gracefully, and waits for its end. */
  async close(): Promise<void> {
    this.closing.abort();
    const { child } = this;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('close', resolve));
    this.say({ say: 'stop' });
    await gone;
  }

  private async goOn(livedMs: number, how: unknown): Promise<void> {
    for (const ended of [...this.asked.values()]) ended(null);
    const { signal } = this.closing;
    if (signal.aborted) return;
    if (livedMs > SOON_MS) this.backOffMs = FIRST_BACK_OFF_MS;
    this.log.warn(`The worker process ended (${String(how)}) and is started again.`);
    const waited = pause(this.backOffMs, signal);
    this.backOffMs = Math.min(2 * this.backOffMs, LAST_BACK_OFF_MS);
    try {
      await waited;
      this.start();
    } catch (error) {
      // Closing, or the system refused to fork, as for lack of memory.
      await this.goOn(0, error);
    }
  }
}

/** Gives requests priority when CPU is scarce. The child's threads start later and inherit its priority. */
function comeSecond({ pid }: ChildProcess): void {
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
  try {
    if (pid !== undefined) setPriority(pid, Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW));
  } catch {
    // The child has ended already, or the system does not permit it: either is harmless.
  }
}

/** Jobs of a service, done as plain calls in its worker process. */
export class WorkerProcessJobs extends Jobs {
  constructor(private readonly worker: WorkerProcess) {
    super();
  }

  /** The worker process has its own handlers. */
  override start(): Promise<void> {
    return Promise.resolve();
  }

  override submit(job: Job): Promise<void> {
    this.worker.say({ say: 'submit', job });
    return Promise.resolve();
  }

  override async have<Result>(job: Job, result: z.ZodType<Result>, signal: AbortSignal): Promise<Result> {
    return result.parse(await this.worker.ask((id) => ({ say: 'have', id, job }), signal));
  }

  override cancel(kind: string, key: string): Promise<void> {
    this.worker.say({ say: 'cancel', kind, key });
    return Promise.resolve();
  }

  override others(): Promise<number> {
    return Promise.resolve(0);
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }
}

/** The worker process's end of the connection to its service; the process exits when it closes. */
export class ServiceLink {
  private readonly leaving = new Map<number, AbortController>();
  private readonly end = (): never => process.exit(1);
  private stop: () => void = () => undefined;
  private readonly told = new Promise<void>((resolve) => (this.stop = resolve));

  /** @param metrics the metrics of this process */
  constructor(
    private readonly jobs: Jobs,
    private readonly metrics: () => Promise<unknown>,
  ) {
    process.on('message', (order: Order) => {
      this.hear(order);
    });
    // The service was killed or did not wait: the next worker process resumes what was under way.
    process.once('disconnect', this.end);
    if (!process.connected) this.end();
    // A signal to both, as from a terminal, is handled by the service.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
  }

  /** Resolves when the service orders this process to stop. */
  untilTold(): Promise<void> {
    return this.told;
  }

  /** Disconnects, which allows this process to end. */
  close(): void {
    process.off('disconnect', this.end);
    process.disconnect();
  }

  private hear(order: Order): void {
    if (order.say === 'submit') void this.jobs.submit(order.job);
    else if (order.say === 'cancel') void this.jobs.cancel(order.kind, order.key);
    else if (order.say === 'stop') this.stop();
    else if (order.say === 'leave') this.leaving.get(order.id)?.abort(new Error('Nobody waits for it any more.'));
    else void this.answer(order);
  }

  private async answer(order: Extract<Order, { say: 'have' | 'metrics' }>): Promise<void> {
    const { id } = order;
    const leave = new AbortController();
    this.leaving.set(id, leave);
    try {
      const value =
        order.say === 'metrics' ? await this.metrics() : await this.jobs.have(order.job, z.unknown(), leave.signal);
      this.report({ say: 'answer', id, value });
    } catch (error) {
      this.report({ say: 'failure', id, failure: failureOf(error, 'What was asked of the worker process') });
    } finally {
      this.leaving.delete(id);
    }
  }

  private report(report: Report): void {
    if (process.connected) process.send?.(report, undefined, undefined, () => undefined);
  }
}
