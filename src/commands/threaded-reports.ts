import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import pLimit from 'p-limit';
import { BestkError, InterruptedError } from '../core/errors.js';
import { type ReportMade, ReportMaker, type ReportWish } from '../pipeline/report-maker.js';
import { reportLines, type ReportLines } from './report-lines.js';

/** What a thread is started with, beside what it finds the store by. */
export interface ReportJob {
  readonly lines: ReportLines;
  readonly wish: ReportWish;
}

/** What a thread answers: the report, or the error that BestkError stands for in it. A defect is thrown. */
export type ReportAnswer =
  { readonly made: ReportMade } | { readonly failure: Pick<BestkError, 'code' | 'exitCode' | 'message' | 'next'> };

/**
 * Has each report made by a thread of its own, one at a time: reading hundreds of runs and computing takes seconds, in
 * which the service has to answer others.
 */
export class ThreadedReports extends ReportMaker {
  private readonly alone = pLimit(1);
  private readonly closing = new AbortController();

  /** @param thread the module that is run @param place what it is told of where the store is */
  constructor(
    private readonly thread: URL,
    private readonly place: unknown,
  ) {
    super();
  }

  override async make(upload: AsyncIterable<Uint8Array>, wish: ReportWish): Promise<ReportMade> {
    const lines = await reportLines(upload);
    return this.alone(() => this.inThread({ lines, wish }));
  }

  onApplicationShutdown(): void {
    this.closing.abort(new InterruptedError('The service is shutting down.'));
  }

  private async inThread(job: ReportJob): Promise<ReportMade> {
    const { signal } = this.closing;
    signal.throwIfAborted();
    const worker = new Worker(this.thread, { workerData: { place: this.place, ...job } });
    try {
      const [answer] = (await once(worker, 'message', { signal })) as [ReportAnswer];
      if ('made' in answer) return answer.made;
      throw new ErrorOfThread(answer.failure);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      await worker.terminate();
    }
  }
}

/** An error of another thread, as it was there. */
class ErrorOfThread extends BestkError {
  readonly code: string;
  readonly exitCode: number;

  constructor({ code, exitCode, message, next }: Extract<ReportAnswer, { failure: unknown }>['failure']) {
    super(message, next);
    this.code = code;
    this.exitCode = exitCode;
  }
}
