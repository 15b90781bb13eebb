import { StoredBenchmarkReports } from '../../benchmarks/stored-reports.js';
import { JobThreads } from '../../jobs/job-threads.js';
import type { BenchmarkStore } from '../../ports/benchmark-store.js';
import type { RunStore } from '../../ports/run-store.js';
import type { BenchmarkReports } from '../../runs/benchmark-service.js';
import type { StorePlace } from '../../store/store.js';

type Asked = Parameters<BenchmarkReports['make']>;

/** What a thread is started with. */
export interface BenchmarkReportJob {
  readonly place: StorePlace;
  readonly asked: Asked;
}

/** Issues of all arms together whose report is made sooner than a thread has started. */
const FEW = 200;
const LONGEST_MS = 600_000;

/** Has reports of large benchmarks made by threads: thousands of lines take seconds. */
export class ThreadedBenchmarkReports extends StoredBenchmarkReports {
  private readonly threads: JobThreads<BenchmarkReportJob, string>;

  /** @param thread the module that is run @param place where it finds the store */
  constructor(
    thread: URL,
    private readonly place: StorePlace,
    ...stores: readonly [BenchmarkStore, RunStore]
  ) {
    super(...stores);
    this.threads = new JobThreads(thread, LONGEST_MS);
  }

  override async make(...asked: Asked): Promise<string> {
    const { arms, instances } = await this.planOf(asked[0]);
    if (arms.length * instances.length <= FEW) return super.make(...asked);
    return this.threads.run({ place: this.place, asked });
  }

  onApplicationShutdown(): void {
    this.threads.onApplicationShutdown();
  }
}
