import { LargeRuns, type PartJob } from '../../http/runs/judge-prompt-view.js';
import type { StorePlace } from '../../store/store.js';
import { JobThreads } from '../../jobs/job-threads.js';

const LONGEST_MS = 60_000;

/** Has parts of large runs read by threads: reading and checking tens of megabytes takes seconds. */
export class ThreadedParts extends LargeRuns {
  private readonly threads: JobThreads<{ place: StorePlace; job: PartJob }, Uint8Array>;

  /** @param thread the module that is run */
  constructor(
    thread: URL,
    private readonly place: StorePlace,
  ) {
    super();
    this.threads = new JobThreads(thread, LONGEST_MS);
  }

  override read(job: PartJob): Promise<Uint8Array> {
    return this.threads.run({ place: this.place, job });
  }

  onApplicationShutdown(): void {
    this.threads.onApplicationShutdown();
  }
}
