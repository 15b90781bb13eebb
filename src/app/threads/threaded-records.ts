import { NOTHING_RECORDED, readRecord, type RecordedTests, type RunRecord } from '../../../verifiers/index.js';
import { JobThreads } from '../../jobs/job-threads.js';

/** A record that takes no more than some hundredths of a second, whatever is in it. */
const IN_PASSING_BYTES = 256 * 1024;
const LONGEST_MS = 30_000;

/** Reads what regression runs leave behind, large records in threads: other runs are worked on meanwhile. */
export class ThreadedRecords {
  private readonly threads: JobThreads<RunRecord, RecordedTests>;

  constructor(thread = new URL('./record-thread.js', import.meta.url), longestMs = LONGEST_MS) {
    this.threads = new JobThreads(thread, longestMs);
  }

  readonly read = async (record: RunRecord, signal: AbortSignal): Promise<RecordedTests> => {
    const { notes, junit, stdout } = record;
    const bytes = notes.length + (junit?.length ?? 0) + stdout.length;
    if (bytes <= IN_PASSING_BYTES) return readRecord(record);
    // A record that nobody can read has no passes.
    return this.threads.runOr(record, NOTHING_RECORDED, signal);
  };
}
