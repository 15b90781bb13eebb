import { NOTHING_RECORDED, readRecord, type RecordedTests, type RunRecord } from '../../../verifiers/index.js';
import { JobThreads } from '../../jobs/job-threads.js';
import { type LogReader, parseLog, type PrintedLog } from '../../grading/runner-logs.js';
import { TestLog, type TestStatuses } from '../../../verifiers/execution-based/reports/test-log.js';

export interface RecordToRead {
  readonly record: RunRecord;
}
export interface LogToRead {
  readonly log: PrintedLog;
}

/** Largest record read without a thread: it takes at most some hundredths of a second, whatever its content. */
const RECORD_IN_PASSING_BYTES = 256 * 1024;
const LONGEST_RECORD_MS = 30_000;
/** Heap of a thread that reads what a sandbox left, of the 4 GiB that a worker has. */
const MOST_MB = 1_024;

/** Reads records of regression runs, large ones in threads, so that other runs continue meanwhile. */
export class ThreadedRecords {
  private readonly threads: JobThreads<RecordToRead, RecordedTests>;

  constructor(thread = new URL('./reading-thread.js', import.meta.url), longestMs = LONGEST_RECORD_MS) {
    this.threads = new JobThreads(thread, longestMs, 1, MOST_MB);
  }

  readonly read = async (record: RunRecord, signal: AbortSignal): Promise<RecordedTests> => {
    const { notes, junit, stdout } = record;
    const bytes = notes.length + (junit?.length ?? 0) + stdout.length;
    if (bytes <= RECORD_IN_PASSING_BYTES) return readRecord(record);
    // An unreadable record counts as no passes.
    return this.threads.runOr({ record }, NOTHING_RECORDED, signal);
  };
}

/** Largest log read without a thread: it takes at most some hundredths of a second, whatever its content. */
const LOG_IN_PASSING_BYTES = 64 * 1024;
const LONGEST_LOG_MS = 120_000;

/** Reads logs of hidden tests, large ones in threads, so that the service answers other requests meanwhile. */
export class ThreadedLogs {
  private readonly threads: JobThreads<LogToRead, TestStatuses | null>;

  constructor(thread = new URL('./reading-thread.js', import.meta.url), longestMs = LONGEST_LOG_MS) {
    this.threads = new JobThreads(thread, longestMs, 1, MOST_MB);
  }

  readonly read: LogReader = async (log, signal) => {
    if (log.bytes.length <= LOG_IN_PASSING_BYTES) return parseLog(log);
    // An unreadable log shows no passed test.
    const statuses = await this.threads.runOr({ log }, null, signal);
    return statuses === null ? null : new TestLog(statuses);
  };
}
