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
} from '../../core/errors/errors.js';

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
 * Does each job in a thread of its own, one at a time: parsing and computing takes seconds, in which the service has to
 * answer others.
 */
export class JobThreads<Job extends object, Made> {
  private readonly alone = pLimit(1);
  private readonly closing = new AbortController();

  /**
   * @param thread the module that is run, with the job as its `workerData`; it posts one {@link ThreadAnswer}
   * @param longestMs of one job
   */
  constructor(
    private readonly thread: URL,
    private readonly longestMs: number,
  ) {}

  /** @throws what the thread's work does, BadInputError when it takes too long, InterruptedError when the service shuts down, the reason of `stop` */
  run(job: Job, stop?: AbortSignal): Promise<Made> {
    const { signal } = this.closing;
    return this.alone(() => this.inThread(job, stop === undefined ? signal : AbortSignal.any([signal, stop])));
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
