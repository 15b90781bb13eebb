import type { LoggerService } from '@nestjs/common';
import { pause } from '../core/async/time.js';
import type { Spent } from '../core/budget/budget.js';
import { failureOf, InterruptedError, stackOf } from '../core/errors/errors.js';
import { isStoreOutage, UnstorableResultError } from '../core/errors/unavailable.js';
import { JobFailedError, LOST } from '../jobs/jobs.js';
import { BOUNDLESS, type HostResources } from '../ports/sandbox.js';
import {
  type ClaimGuard,
  type Run,
  isRunning,
  type RunEvent,
  type RunGuard,
  RunStore,
  STATUS_EVENT,
} from '../ports/run-store.js';
import { type Emit, RunExecutor } from './run-dependencies.js';

const LOOK_EVERY_MS = 1_000;

type Told = (event: RunEvent) => void;
type Ending = Partial<Pick<Run, 'status' | 'result' | 'failure' | 'spent'>>;

interface RunWorkerTools {
  readonly store: RunStore;
  readonly executor: RunExecutor;
  readonly settings: RunSettings;
  /** Identifies this process as an owner of runs. */
  readonly owner: string;
  /** Whether another owner is a live process on this machine. */
  readonly isAlive: (owner: string) => boolean;
}

/** Works on runs and records how they end. A run that another process takes over is left to it. */
export class RunWorker {
  /** Runs in progress, by the unique owner name under which this process holds them. */
  private readonly held = new Map<string, string>();

  constructor(private readonly tools: RunWorkerTools) {}

  /**
   * Does nothing if the run has ended or `only` does not admit it. If told to stop, it releases the run.
   * @param told called for each event journalled here
   * @param mostLost how many processes in a row may be lost while working on the run before it fails
   * @returns the owner that keeps the run, else null
   * @throws StoreUnavailableError if it is transient
   */
  async work(
    id: string,
    signal: AbortSignal,
    { only, told, mostLost = Infinity }: { only?: ClaimGuard; told?: Told; mostLost?: number } = {},
  ): Promise<string | null> {
    const { store } = this.tools;
    signal.throwIfAborted();
    const owner = `${this.tools.owner}/${globalThis.crypto.randomUUID().slice(0, 8)}`;
    const claimed = await store.claim(id, owner, only);
    if (typeof claimed === 'string') return claimed;
    const run = claimed ? await store.get(id) : null;
    if (run === null) return null;
    this.held.set(owner, id);
    try {
      await this.finish(run, owner, { signal, told, mostLost });
    } finally {
      this.held.delete(owner);
    }
    return null;
  }

  /**
   * Works on a command's run. If another process on this machine already does, it waits for that to end.
   * @param waiting called once, with the owner it waits for
   * @throws like `work`
   */
  async workAlone(
    id: string,
    signal: AbortSignal,
    { told, waiting }: { told: Told; waiting: (owner: string) => void },
  ): Promise<void> {
    const only = { unless: this.tools.isAlive };
    for (let asked = 0; ; asked += 1) {
      const other = await this.work(id, signal, { only, told });
      if (other === null) return;
      if (asked === 0) waiting(other);
      await pause(LOOK_EVERY_MS, signal);
    }
  }

  /** Releases all runs in progress, however long they take to stop. */
  async releaseAll(): Promise<void> {
    await Promise.allSettled([...this.held].map(([owner, id]) => this.tools.store.release(id, owner)));
  }

  private async finish(
    run: Run,
    owner: string,
    { signal, told = () => undefined, mostLost }: { signal: AbortSignal; told: Told | undefined; mostLost: number },
  ): Promise<void> {
    const { store, settings } = this.tools;
    const lost = new AbortController();
    const watch = async (): Promise<void> => {
      if (!(await store.isHeld(run.id, owner).catch(() => true))) lost.abort(new InterruptedError());
    };
    const timer = setInterval(() => void watch(), settings.watchMs);
    const both = AbortSignal.any([signal, lost.signal]);
    const emit: Emit = async (type, data) => {
      if (type === STATUS_EVENT) throw new Error(`The event type "${type}" belongs to the store.`);
      both.throwIfAborted();
      told(await store.append(run.id, type, data, owner));
    };
    const ending = await this.perform(run, emit, both, mostLost)
      .catch(async (error: unknown) => {
        // Otherwise this process would be counted as lost when the run is started again.
        await store.release(run.id, owner).catch(() => undefined);
        throw error;
      })
      .finally(() => {
        clearInterval(timer);
      });
    if (ending === null) await store.release(run.id, owner);
    else await this.storeEnding(run, owner, ending);
  }

  /** Has no effect if the run was cancelled or taken over meanwhile. A result that cannot be stored is a failure of the run. */
  private async storeEnding(run: Run, owner: string, ending: Ending): Promise<void> {
    const { store } = this.tools;
    const onlyIf: RunGuard = { owner, statuses: ['running'] };
    try {
      await store.update(run.id, ending, onlyIf);
    } catch (error) {
      if (ending.status !== 'done' || isStoreOutage(error)) throw error;
      const unstorable = new UnstorableResultError((error as Error).message, { cause: error });
      await store.update(run.id, { status: 'failed', failure: failureOf(unstorable, '') }, onlyIf);
    }
  }

  /** @returns how the run ended, or null if it was stopped before */
  private async perform(run: Run, emit: Emit, signal: AbortSignal, mostLost: number): Promise<Ending | null> {
    let spent: Spent | undefined;
    const told = (by: Spent): void => {
      spent = by;
    };
    try {
      const statuses = await this.tools.store.events(run.id, 0, undefined, STATUS_EVENT);
      if (lostOver(statuses) > mostLost) throw new JobFailedError(LOST);
      return { status: 'done', result: await this.tools.executor.execute(run, emit, signal, told) };
    } catch (error) {
      if (signal.aborted || error instanceof InterruptedError) return null;
      // A failure to store results is not a failure of the run: a process with access to the store continues it.
      if (isStoreOutage(error)) throw error;
      const failure = failureOf(error, `Run ${run.id}`);
      if (failure.code === 'internal')
        this.tools.settings.logger.error(`${failure.message} ${stackOf(error)}`, { run_id: run.id });
      return { status: 'failed', failure, spent };
    }
  }
}

/** Number of consecutive earlier starts that neither ended nor released the run. */
function lostOver(statuses: readonly RunEvent[]): number {
  return statuses.length - 2 - statuses.findLastIndex(({ data }) => !isRunning(data));
}

/** Settings for working on runs; the class is the injection token. */
export class RunSettings {
  /** How often followers poll for new journal events, in ms. */
  readonly pollMs: number;
  /** How often a worker checks that it still owns its run, in ms. */
  readonly watchMs: number;
  /** How often open runs without an owner are looked for, in ms. */
  readonly recoverMs: number;
  /** How long a shutdown lets work in progress finish before stopping it, in ms. */
  readonly drainMs: number;
  /** Name of this process in the events of runs. */
  readonly process: string;
  /** Work is only started while there is room. */
  readonly room: HostResources;

  constructor(
    readonly logger: Pick<LoggerService, 'warn' | 'error'>,
    {
      pollMs = 200,
      watchMs = 2_000,
      recoverMs = 15_000,
      drainMs = 0,
      process = 'bestk',
      room = BOUNDLESS,
    }: Partial<Omit<RunSettings, 'logger'>> = {},
  ) {
    this.pollMs = pollMs;
    this.watchMs = watchMs;
    this.recoverMs = recoverMs;
    this.drainMs = drainMs;
    this.process = process;
    this.room = room;
  }
}
