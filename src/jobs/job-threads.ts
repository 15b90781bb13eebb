import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import {
  BadInputError,
  BestkError,
  type Failure,
  failureOf,
  InterruptedError,
  ToldError,
} from '../core/errors/errors.js';

const BODY = { field: 'body' };

/** What a thread answers: what it made, or the error that BestkError stands for in it. A defect is thrown. */
export type ThreadAnswer<Made> = { readonly made: Made } | { readonly failure: Failure };

/** For a thread to post when it has done its work. */
export async function answerOf<Made>(work: () => Made | Promise<Made>): Promise<ThreadAnswer<Made>> {
  try {
    return { made: await work() };
  } catch (error) {
    if (!(error instanceof BestkError)) throw error;
    return { failure: failureOf(error, 'A thread') };
  }
}

/**
 * Does each job in a thread of its own: parsing and computing takes seconds, in which a service has to answer others, and
 * a command has other cores.
 */
export class JobThreads<Job extends object, Made> {
  private readonly limit: ReturnType<typeof pLimit>;
  private readonly closing = new AbortController();

  /**
   * @param thread the module that is run, with the job as its `workerData`; it posts one {@link ThreadAnswer}
   * @param longestMs of one job
   * @param atOnce jobs under way at the same time
   */
  constructor(
    private readonly thread: URL,
    private readonly longestMs: number,
    atOnce = 1,
  ) {
    this.limit = pLimit(atOnce);
  }

  /** @throws what the thread's work does, BadInputError when it takes too long, InterruptedError when the service shuts down, the reason of `stop` */
  run(job: Job, stop?: AbortSignal): Promise<Made> {
    const { signal } = this.closing;
    return this.limit(() => this.inThread(job, stop === undefined ? signal : AbortSignal.any([signal, stop])));
  }

  /** As `run`, but `unread` where it takes too long or cannot be read. */
  async runOr<Unread>(job: Job, unread: Unread, stop?: AbortSignal): Promise<Made | Unread> {
    try {
      return await this.run(job, stop);
    } catch (error) {
      if (error instanceof BadInputError) return unread;
      throw error;
    }
  }

  onApplicationShutdown(): void {
    this.closing.abort(new InterruptedError('The service is shutting down.'));
  }

  private async inThread(job: Job, signal: AbortSignal): Promise<Made> {
    signal.throwIfAborted();
    const late = new AbortController();
    const alarm = setTimeout(() => {
      late.abort(new BadInputError(`takes longer than ${this.longestMs / 1_000} s to read; send less at once.`, BODY));
    }, this.longestMs);
    return this.untilAborted(job, AbortSignal.any([signal, late.signal])).finally(() => {
      clearTimeout(alarm);
    });
  }

  private async untilAborted(job: Job, signal: AbortSignal): Promise<Made> {
    const worker = new Worker(this.thread, { workerData: job });
    try {
      const [answer] = (await Promise.race([once(worker, 'message', { signal }), endOf(worker)])) as [
        ThreadAnswer<Made>,
      ];
      if ('made' in answer) return answer.made;
      throw new ToldError(answer.failure);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      await worker.terminate();
    }
  }
}

/** @throws when the thread is over: an answer comes before that */
async function endOf(worker: Worker): Promise<never> {
  const [code] = (await once(worker, 'exit')) as [number];
  throw new Error(`The thread ended with ${code} and without an answer.`);
}
