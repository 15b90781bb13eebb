import { z } from 'zod';
import { failureOf } from '../core/errors/errors.js';
import type { Jobs } from './jobs.js';
import type { Order, Report } from './worker-process.js';

/** The worker process's end of the line to its service, with which it ends. */
export class ServiceLink {
  private readonly leaving = new Map<number, AbortController>();
  private readonly end = (): never => process.exit(1);
  private stop: () => void = () => undefined;
  private readonly told = new Promise<void>((resolve) => (this.stop = resolve));

  /** @param metrics what this process has counted */
  constructor(
    private readonly jobs: Jobs,
    private readonly metrics: () => Promise<unknown>,
  ) {
    process.on('message', (order: Order) => {
      this.hear(order);
    });
    // A service that was killed, or had no patience: what is under way is taken up again by the next.
    process.once('disconnect', this.end);
    if (!process.connected) this.end();
    // One that reaches both, as from a terminal, is the service's to hear.
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
  }

  /** Resolves when the service says that this process is to stop. */
  untilTold(): Promise<void> {
    return this.told;
  }

  /** Lets this process end. */
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
