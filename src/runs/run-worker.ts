import type { LoggerService } from '@nestjs/common';
import { pause } from '../core/async/time.js';
import { failureOf, InterruptedError, stackOf } from '../core/errors/errors.js';
import { StoreUnavailableError } from '../core/errors/unavailable.js';
import { JobFailedError, LOST } from '../jobs/jobs.js';
import { BOUNDLESS, type HostResources } from '../ports/sandbox.js';
import { type ClaimGuard, type Run, isRunning, type RunEvent, RunStore, STATUS_EVENT } from '../ports/run-store.js';
import { type Emit, RunExecutor } from './run-dependencies.js';

const LOOK_EVERY_MS = 1_000;

type Told = (event: RunEvent) => void;
type Ending = Partial<Pick<Run, 'status' | 'result' | 'failure'>>;

interface RunWorkerTools {
  readonly store: RunStore;
  readonly executor: RunExecutor;
  readonly settings: RunSettings;
  /** Names this process as an owner of runs. */
  readonly owner: string;
  /** Whether another owner is a process that runs on this machine. */
  readonly isAlive: (owner: string) => boolean;
}

/** Works on runs, and writes down how they end. A run that another process takes meanwhile is left to it. */
export class RunWorker {
  /** Runs under way, by the name under which this process holds them: no other ever has it. */
  private readonly held = new Map<string, string>();

  constructor(private readonly tools: RunWorkerTools) {}

  /**
   * Does nothing when the run has ended or is not what `only` says. Told to stop, it gives the run back.
   * @param told of each event that is journalled here
   * @param mostLost how many processes may have been lost over the run, one after another, before it fails
   * @returns the owner with whom the run is left, else null
   * @throws StoreUnavailableError that may pass
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
   * Works on a run of a command. Where another process of this machine does so already, it waits for that to end.
   * @param waiting told once, whom it waits for
   * @throws as `work`
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

  /** Gives back what is still being worked on, however long it takes to stop. */
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
        // Or this process would be counted among the lost when the run is begun again.
        await store.release(run.id, owner).catch(() => undefined);
        throw error;
      })
      .finally(() => {
        clearInterval(timer);
      });
    if (ending === null) await store.release(run.id, owner);
    // Changes nothing when the run was cancelled or another process took it in the meantime.
    else await store.update(run.id, ending, { owner, statuses: ['running'] });
  }

  /** @returns how the run ended, or null when it was told to stop before */
  private async perform(run: Run, emit: Emit, signal: AbortSignal, mostLost: number): Promise<Ending | null> {
    try {
      if (lostOver(await this.tools.store.events(run.id, 0)) > mostLost) throw new JobFailedError(LOST);
      return { status: 'done', result: await this.tools.executor.execute(run, emit, signal) };
    } catch (error) {
      if (signal.aborted || error instanceof InterruptedError) return null;
      // Work that could not be kept is no failure of the run: whoever has the store goes on.
      if (error instanceof StoreUnavailableError && error.retryable) throw error;
      const failure = failureOf(error, `Run ${run.id}`);
      if (failure.code === 'internal')
        this.tools.settings.logger.error(`${failure.message} ${stackOf(error)}`, { run_id: run.id });
      return { status: 'failed', failure };
    }
  }
}

/** How often, before this time, the run was begun and neither ended nor given back, since it last was. */
function lostOver(journal: readonly RunEvent[]): number {
  const statuses = journal.filter(({ type }) => type === STATUS_EVENT);
  return statuses.length - 2 - statuses.findLastIndex(({ data }) => !isRunning(data));
}

/** How runs are worked on; the class is the injection token. */
export class RunSettings {
  /** How often followers look for what was journalled. */
  readonly pollMs: number;
  /** How often whoever works on a run looks whether it is still to. */
  readonly watchMs: number;
  /** How often open runs are looked for that nobody has taken up. */
  readonly recoverMs: number;
  /** How long a shutdown lets work under way finish before it tells it to stop. */
  readonly drainMs: number;
  /** Names this process in the events of runs. */
  readonly process: string;
  /** Work is begun while there is room. */
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
