import { type ReportMade, ReportMaker, type ReportWish } from '../pipeline/report-maker.js';
import { JobThreads } from './job-threads.js';
import { reportLines, type ReportLines } from './report-lines.js';

/** What a thread is started with. */
export interface ReportJob {
  readonly lines: ReportLines;
  readonly wish: ReportWish;
  /** Where the store is. */
  readonly place: unknown;
}

/** Has each report made by a thread: it reads hundreds of runs and computes for seconds. */
export class ThreadedReports extends ReportMaker {
  private readonly threads: JobThreads<ReportJob, ReportMade>;

  /** @param thread the module that is run @param place what it is told of where the store is */
  constructor(
    thread: URL,
    private readonly place: unknown,
  ) {
    super();
    this.threads = new JobThreads(thread);
  }

  override async make(upload: AsyncIterable<Uint8Array>, wish: ReportWish): Promise<ReportMade> {
    return this.threads.run({ lines: await reportLines(upload), wish, place: this.place });
  }

  onApplicationShutdown(): void {
    this.threads.onApplicationShutdown();
  }
}
