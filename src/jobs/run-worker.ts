import { BestkError, InterruptedError } from '../core/errors/errors.js';
import { StoreUnavailableError } from '../core/errors/unavailable.js';
import { type Run, RunStore, STATUS_EVENT } from '../ports/run-store.js';
import { RunBell } from './run-bell.js';
import { type Emit, RunExecutor } from '../runs/run-executor.js';
import { RunHeartbeat } from './run-heartbeat.js';
import { RunSettings } from '../runs/run-settings.js';

type Ending = Partial<Pick<Run, 'status' | 'result' | 'failure'>>;

/** Works on the runs this process gets hold of, and writes down how they end. */
export class RunWorker {
  private readonly owner: string;
  private readonly active = new Map<string, AbortController>();

  constructor(
    private readonly store: RunStore,
    private readonly executor: RunExecutor,
    private readonly bell: RunBell,
    private readonly settings: RunSettings,
  ) {
    this.owner = settings.newOwner();
  }

  /** Does nothing when another process holds the run or it has ended. Never rejects. */
  async work(id: string, signal: AbortSignal): Promise<void> {
    const controller = new AbortController();
    const stop = (): void => {
      controller.abort(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    this.active.set(id, controller);
    try {
      await this.settings.turns.next();
      if (!(await this.claim(id))) return;
      this.bell.ring(id);
      const run = await this.store.get(id);
      if (run !== null) await this.finish(run, controller);
    } catch (error) {
      this.log(id, `Run ${id} is left to be taken up again`, error);
    } finally {
      signal.removeEventListener('abort', stop);
      this.active.delete(id);
      this.bell.ring(id);
    }
  }

  /** Gives back what is still being worked on, so that nobody has to wait for the leases to run out. */
  async releaseAll(): Promise<void> {
    await Promise.allSettled([...this.active.keys()].map((id) => this.store.release(id, this.owner)));
  }

  private async finish(run: Run, controller: AbortController): Promise<void> {
    const ending = await this.perform(run, controller);
    if (ending === null) await this.store.release(run.id, this.owner);
    // Changes nothing when the run was cancelled or another process took it in the meantime.
    else await this.store.update(run.id, ending, { owner: this.owner, statuses: ['running'] });
  }

  /** @returns how the run ended, or null when it was told to stop before. @throws StoreUnavailableError that may pass */
  private async perform(run: Run, controller: AbortController): Promise<Ending | null> {
    const { signal } = controller;
    const heartbeat = new RunHeartbeat(this.settings.heartbeatMs, () => this.extend(run.id, controller));
    try {
      return { status: 'done', result: await this.executor.execute(run, this.emitter(run.id, signal), signal) };
    } catch (error) {
      if (signal.aborted) return null;
      // Work that could not be kept is no failure of the run: whoever has the store goes on.
      if (error instanceof StoreUnavailableError && error.retryable) throw error;
      return { status: 'failed', failure: this.failureOf(run.id, error) };
    } finally {
      await heartbeat.stop();
    }
  }

  private emitter(id: string, signal: AbortSignal): Emit {
    return async (type, data) => {
      if (type === STATUS_EVENT) throw new Error(`The event type "${type}" belongs to the store.`);
      await this.settings.turns.next();
      signal.throwIfAborted();
      await this.store.append(id, type, data, this.owner);
      this.bell.ring(id);
    };
  }

  private async extend(id: string, controller: AbortController): Promise<void> {
    if (controller.signal.aborted) return;
    try {
      if (!(await this.claim(id))) controller.abort(new InterruptedError());
    } catch (error) {
      this.log(id, `The lease of run ${id} could not be extended`, error);
    }
  }

  private claim(id: string): Promise<boolean> {
    return this.store.claim(id, this.owner, this.settings.leaseMs);
  }

  private failureOf(id: string, error: unknown): NonNullable<Run['failure']> {
    if (error instanceof BestkError) return { code: error.code, message: error.message, next: error.next };
    this.log(id, `Run ${id} failed on an internal error`, error);
    return {
      code: 'internal',
      message: 'An internal error ended the run.',
      next: 'Look into the log for this run id, and report what it says.',
    };
  }

  private log(id: string, message: string, error: unknown): void {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.settings.logger.error(`${message}: ${reason}`, { run_id: id });
  }
}
