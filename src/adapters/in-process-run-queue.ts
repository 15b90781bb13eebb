import pLimit, { type LimitFunction } from 'p-limit';
import { RunQueue } from '../ports/run-queue.js';

/** Works on at most `runsAtOnce` runs in this process, first come, first served; never on one run twice at a time. */
export class InProcessRunQueue extends RunQueue {
  private readonly limit: LimitFunction;
  private readonly waiting = new Set<string>();
  private readonly working = new Map<string, Promise<void>>();
  private readonly again = new Set<string>();
  private work: ((runId: string) => Promise<void>) | null = null;
  private closed = false;

  constructor(runsAtOnce: number) {
    super();
    this.limit = pLimit(runsAtOnce);
  }

  override onRun(work: (runId: string) => Promise<void>): void {
    this.work = work;
  }

  override submit(runId: string): void {
    if (this.closed) return;
    if (this.working.has(runId)) {
      this.again.add(runId);
    } else if (!this.waiting.has(runId)) {
      this.waiting.add(runId);
      void this.limit(() => this.deliver(runId));
    }
  }

  override async close(): Promise<void> {
    this.closed = true;
    this.limit.clearQueue();
    await Promise.all(this.working.values());
  }

  private async deliver(runId: string): Promise<void> {
    this.waiting.delete(runId);
    if (this.closed || this.work === null) return;
    const work = this.work(runId);
    this.working.set(runId, work);
    await work;
    this.working.delete(runId);
    if (this.again.delete(runId)) this.submit(runId);
  }
}
