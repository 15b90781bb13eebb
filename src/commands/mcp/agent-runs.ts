import { contentKey } from '../../core/fingerprint.js';
import { pause } from '../../core/async/retry.js';
import { BestkError } from '../../core/errors/errors.js';
import type { RunRequest } from '../../core/run/run-request.js';
import { hasEnded, type Run } from '../../ports/run-store.js';
import { outcomesIn } from '../../runs/outcomes.js';
import type { App } from '../app.js';

/** The runs that agents ask for. They are worked on in this process, and go on when a call has answered. */
export class AgentRuns {
  private readonly closing = new AbortController();
  private readonly working = new Map<string, Promise<void>>();

  constructor(private readonly app: App) {}

  /** The run of a request: the one there was, unless it came to nothing. @throws BadInputError for what cannot be done */
  async start(request: RunRequest): Promise<string> {
    for (let time = 1; ; time += 1) {
      const run = await this.app.runs.accept(`mcp:${contentKey(request)}#${time}`, request, { alone: true });
      if (hasEnded(run.status) && !isGood(run)) continue;
      if (!hasEnded(run.status) && !this.working.has(run.id)) this.working.set(run.id, this.work(run.id));
      return run.id;
    }
  }

  /** The run as it is when it has ended, or after `seconds`. @throws RunNotFoundError */
  async after(id: string, seconds: number): Promise<Run> {
    const over = new AbortController();
    await Promise.race([this.working.get(id), pause(seconds * 1_000, over.signal).catch(() => undefined)]);
    over.abort();
    return this.app.runs.get(id);
  }

  /** Cancels what is under way, and its containers are gone. */
  async close(): Promise<void> {
    this.closing.abort();
    await Promise.all(this.working.values());
  }

  private async work(id: string): Promise<void> {
    const { signal } = this.closing;
    const silent = { told: () => undefined, waiting: () => undefined };
    try {
      await this.app.worker.workAlone(id, signal, silent);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      if (signal.aborted) await this.app.runs.cancel(id).catch(() => undefined);
      this.working.delete(id);
    }
  }
}

/** Whether everybody in a run that has ended got an outcome. */
function isGood(run: Run): boolean {
  try {
    outcomesIn(run);
    return true;
  } catch (error) {
    if (!(error instanceof BestkError)) throw error;
    return false;
  }
}
