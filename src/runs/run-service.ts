import { Injectable } from '@nestjs/common';
import { abortable } from '../core/async/time.js';
import { InterruptedError, RunConflictError, RunNotFoundError } from '../core/errors/errors.js';
import { Jobs } from '../jobs/jobs.js';
import {
  type Acceptance,
  hasEnded,
  type Run,
  type RunEvent,
  type RunHead,
  type RunListing,
  type RunOverview,
  type RunPage,
  type RunStatus,
  RunStore,
} from '../ports/run-store.js';
import { RunExecutor } from './run-dependencies.js';
import { jobOfRun } from './job-handlers.js';
import { RunSettings } from './run-worker.js';

/** Operations on runs. Every method may throw StoreUnavailableError. */
@Injectable()
export class RunService {
  private readonly followers: RunFollowers;
  private isClosing = false;

  constructor(
    private readonly store: RunStore,
    private readonly executor: RunExecutor,
    private readonly jobs: Jobs,
    private readonly settings: RunSettings,
  ) {
    this.followers = new RunFollowers(store, settings);
  }

  /**
   * Accepts a request; the run starts as soon as there is room. The same key and request give the same run.
   * @throws BadInputError for a request that cannot be executed or a key of another request, InterruptedError during
   * shutdown, MachineLowError
   */
  async submit(key: string, request: Run['request'], submitter = ''): Promise<Run> {
    await this.requireRoom();
    const run = await this.accept(key, request, { submitter, setup: await this.setup() });
    this.handOn(run, submitter);
    return run;
  }

  /** Identifies the settings that results depend on. */
  setup(): Promise<string> {
    return this.executor.setup();
  }

  /**
   * Checks that the store has room for more runs; those it already has need some, too.
   * @throws MachineLowError
   */
  async requireRoom(): Promise<void> {
    const low = await this.settings.room.shortage(['store']);
    if (low !== null) throw low;
  }

  /** Like `submit`, for a command that executes the run itself. */
  async accept(key: string, request: Run['request'], how: Acceptance): Promise<Run> {
    if (this.isClosing) throw new InterruptedError('The service is shutting down.');
    this.executor.check?.(request);
    return (await this.store.create(key, request, how)).run;
  }

  /**
   * Reopens a run that failed or was cancelled.
   * @throws RunNotFoundError, RunConflictError
   */
  async retry(id: string): Promise<void> {
    await this.change(id, { status: 'queued', failure: null }, ['failed', 'cancelled']);
  }

  /** @throws RunNotFoundError */
  async get(id: string): Promise<Run> {
    const run = await this.store.get(id);
    if (run === null) throw RunNotFoundError.forRun(id);
    return run;
  }

  /**
   * Bytes of request and result.
   * @throws RunNotFoundError
   */
  async size(id: string): Promise<number> {
    const size = await this.store.size(id);
    if (size === null) throw RunNotFoundError.forRun(id);
    return size;
  }

  /**
   * Newest first, or as specified by `listing`.
   * @throws BadInputError for a `before` that is not from a previous page
   */
  list(limit: number, before: string | null, listing?: RunListing): Promise<RunPage> {
    return this.store.list(limit, before, listing);
  }

  /**
   * Progress and summary of the result, without the documents.
   * @throws RunNotFoundError
   */
  async overview(id: string): Promise<RunOverview> {
    const overview = await this.store.overview(id);
    if (overview === null) throw RunNotFoundError.forRun(id);
    return overview;
  }

  /**
   * Whether the run has ended and no event follows `seq`.
   * @throws RunNotFoundError
   */
  async isOver(id: string, seq: number): Promise<boolean> {
    return hasEnded(await this.statusOf(id)) && (await this.store.events(id, seq, 1)).length === 0;
  }

  /**
   * The journal after `afterSeq`, then new events as they are added, each once and in order, whichever process works on the
   * run. Ends when the run has ended or was deleted, when `signal` aborts, or when the service shuts down.
   */
  follow(id: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<RunEvent, void> {
    return this.followers.follow(id, afterSeq, signal);
  }

  /**
   * Stops a run in any process; its worker is notified at once.
   * @throws RunNotFoundError, RunConflictError if it has ended
   */
  async cancel(id: string): Promise<void> {
    if ((await this.statusOf(id)) === 'cancelled') return;
    await this.change(id, { status: 'cancelled' }, ['queued', 'running']);
    await this.jobs.cancel('run', id);
  }

  /** @throws RunNotFoundError, RunConflictError unless it has ended */
  async delete(id: string): Promise<void> {
    const status = await this.statusOf(id);
    if (!hasEnded(status)) throw new RunConflictError(`Run "${id}" is ${status}.`, 'Cancel it first.');
    await this.store.delete(id);
  }

  /**
   * Checks that the store answers and runs are accepted.
   * @throws StoreUnavailableError, InterruptedError
   */
  async checkReady(): Promise<void> {
    if (this.isClosing) throw new InterruptedError('The service is shutting down.');
    await this.store.list(1, null);
  }

  /** Accepts no more runs, and ends all followers. */
  close(): void {
    this.isClosing = true;
    this.followers.close();
  }

  /** Submits the job of a stored run. If the queue is unavailable the run is not refused: run recovery submits it later. */
  handOn({ id, status }: Pick<Run, 'id' | 'status'>, submitter: string): void {
    if (hasEnded(status)) return;
    this.jobs.submit(jobOfRun(id, submitter)).catch((error: unknown) => {
      this.settings.logger.warn(`Run ${id} waits for the queue: ${String(error)}`, { run_id: id });
    });
  }

  private async statusOf(id: string): Promise<RunStatus> {
    const status = await this.store.statusOf(id);
    if (status === null) throw RunNotFoundError.forRun(id);
    return status;
  }

  private async change(
    id: string,
    change: Partial<Pick<Run, 'status' | 'failure'>>,
    from: readonly RunStatus[],
  ): Promise<void> {
    if (await this.store.update(id, change, { statuses: from })) return;
    const status = await this.statusOf(id);
    throw new RunConflictError(`Run "${id}" is ${status}.`, 'Look at the run to see how it ended.');
  }
}

/** Journals can exceed memory, so events are read in batches. */
const EVENTS_AT_ONCE = 500;

interface Followed {
  followers: number;
  /** As last seen. */
  head: RunHead | undefined;
  /** Resolves when followers should look again; it is then replaced. */
  moved: Promise<void>;
  wake: () => void;
}

/**
 * Followers of runs, whichever process works on them: one query polls all followed runs, however many followers they have.
 */
class RunFollowers {
  private readonly followed = new Map<string, Followed>();
  private isLooking = false;
  private isClosed = false;

  constructor(
    private readonly store: Pick<RunStore, 'heads' | 'statusOf' | 'events'>,
    private readonly settings: Pick<RunSettings, 'pollMs'>,
  ) {}

  /** See RunService.follow. */
  async *follow(id: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<RunEvent, void> {
    let seq = afterSeq;
    const entry = this.begin(id);
    try {
      while (!signal.aborted && !this.isClosed) {
        // Read before the store is queried, so that changes in between are not missed.
        const { moved } = entry;
        const status = await this.store.statusOf(id);
        const events = await this.store.events(id, seq, EVENTS_AT_ONCE);
        for (const event of events) {
          yield event;
          seq = event.seq;
        }
        const isAll = events.length < EVENTS_AT_ONCE;
        if (isAll && (status === null || hasEnded(status))) return;
        if (events.length === 0) await abortable(moved, signal).catch(() => undefined);
      }
    } finally {
      entry.followers -= 1;
      if (entry.followers === 0) this.followed.delete(id);
    }
  }

  /** Ends all followers once they have read the present events. */
  close(): void {
    this.isClosed = true;
    for (const id of this.followed.keys()) this.wake(id);
  }

  private wake(id: string): void {
    const entry = this.followed.get(id);
    entry?.wake();
    if (entry !== undefined) rearm(entry);
  }

  private begin(id: string): Followed {
    const fresh = { followers: 0, head: undefined, moved: Promise.resolve(), wake: () => undefined };
    const entry = this.followed.get(id) ?? rearm(fresh);
    entry.followers += 1;
    this.followed.set(id, entry);
    if (!this.isLooking) void this.look();
    return entry;
  }

  private async look(): Promise<void> {
    this.isLooking = true;
    while (this.followed.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, this.settings.pollMs));
      const ids = [...this.followed.keys()];
      // If the store cannot be queried, every follower looks and gets the error.
      const heads = await this.store.heads(ids).catch(() => null);
      for (const id of ids) if (heads === null || this.hasMoved(id, heads.get(id))) this.wake(id);
    }
    this.isLooking = false;
  }

  private hasMoved(id: string, head: RunHead | undefined): boolean {
    const entry = this.followed.get(id);
    if (entry === undefined) return false;
    const isSame = head !== undefined && head.seq === entry.head?.seq && head.status === entry.head.status;
    entry.head = head;
    return !isSame;
  }
}

function rearm(entry: Followed): Followed {
  entry.moved = new Promise((resolve) => (entry.wake = resolve));
  return entry;
}
