import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { UPLOAD_BOUNDS } from '../../io/saved-runs/saved-run.js';
import type { HostResources } from '../../ports/sandbox.js';
import { type ReportMade, ReportMaker, type ReportWish } from '../../runs/run-intake.js';
import { JobThreads } from '../../jobs/job-threads.js';
import { LabelBook, LabelReason, type LabelsByInstance } from '../../reports/label-book.js';
import { BODY, uploadedLines, withUpload } from './upload-folder.js';
import { StoredBenchmarkReports } from '../../benchmarks/stored-reports.js';
import type { BenchmarkStore } from '../../ports/benchmark-store.js';
import type { RunStore } from '../../ports/run-store.js';
import type { BenchmarkReports } from '../../runs/benchmark-service.js';
import type { StorePlace } from '../../store/store.js';
import { LargeRuns, type PartJob } from '../../http/runs/judge-prompt-view.js';

/** Input of a report thread. */
export interface ReportJob {
  /** The uploaded file. */
  readonly file: string;
  readonly wish: ReportWish;
  /** Location of the store. */
  readonly place: unknown;
}

const LONGEST_MS = 600_000;
/** Limit of an upload's bytes, as sent and decompressed. */
export const LARGEST_UPLOAD = 1024 ** 3;

/** Makes each report in a thread: it reads hundreds of runs and a million labels, and computes for seconds. */
export class ThreadedReports extends ReportMaker {
  private readonly threads: JobThreads<ReportJob, ReportMade>;

  /** @param place location of the store, passed to the thread */
  constructor(
    private readonly place: unknown,
    private readonly room: HostResources,
    thread = new URL('./report-thread.js', import.meta.url),
  ) {
    super();
    this.threads = new JobThreads(thread, LONGEST_MS);
  }

  override make(upload: AsyncIterable<Uint8Array>, wish: ReportWish, left: AbortSignal): Promise<ReportMade> {
    const received = { upload, gzip: wish.gzip, largest: LARGEST_UPLOAD, room: this.room };
    return withUpload(received, left, (file, _folder, stop) =>
      this.threads.run({ file, wish, place: this.place }, stop),
    );
  }

  onApplicationShutdown(): void {
    this.threads.close();
  }
}

const MOST_RUNS = 10_000;
const MOST_LABELS = 1_000_000;
const INSTEAD = 'make several reports';

/** Lines for runs and labels are short. */
const BOUNDS = { ...UPLOAD_BOUNDS, values: 100_000, lines: 2_000_000 };

const Id = z.string().max(512);
const Line = z.union([
  z.strictObject({ run_id: Id }),
  z.strictObject({ against: Id }),
  z.object({ instance_id: Id, candidate_id: Id, resolved: z.boolean().nullable(), reason: LabelReason }),
]);

/** Input of a report: runs, runs to compare with, and labels by instance and candidate id. */
export interface ReportLines {
  readonly runs: ReadonlySet<string>;
  readonly against: ReadonlySet<string>;
  readonly labels: LabelsByInstance;
  /** About the labels, for the client. */
  readonly notes: readonly string[];
}

/** Reads the lines of an upload as a stream. @throws BadInputError naming the line */
export async function reportLines(upload: AsyncIterable<Uint8Array>): Promise<ReportLines> {
  const [runs, against] = [new Set<string>(), new Set<string>()];
  const book = new LabelBook();
  let labelled = 0;
  for await (const { value, line: number } of uploadedLines(upload, BOUNDS, INSTEAD)) {
    const line = lineOf(value, number);
    if ('run_id' in line) runs.add(line.run_id);
    else if ('against' in line) against.add(line.against);
    else {
      book.add(line, { ...BODY, line: number, field: 'resolved' });
      labelled += 1;
    }
    if (runs.size + against.size > MOST_RUNS) throw tooMany(`${MOST_RUNS} runs`, number);
    if (labelled > MOST_LABELS) throw tooMany(`${MOST_LABELS} labels`, number);
  }
  if (runs.size === 0) throw new BadInputError('names no run: send {"run_id": "…"} lines.', BODY);
  return { runs, against, labels: book.byInstance, notes: book.notes() };
}

function tooMany(what: string, line: number): BadInputError {
  return new BadInputError(`names more than ${what}; ${INSTEAD}.`, { ...BODY, line });
}

function lineOf(value: unknown, line: number): z.infer<typeof Line> {
  const read = Line.safeParse(value);
  if (read.success) return read.data;
  const problem = 'is not {"run_id"}, {"against"} or {"instance_id", "candidate_id", "resolved"}.';
  throw new BadInputError(problem, { ...BODY, line });
}

type Asked = Parameters<BenchmarkReports['make']>;

/** Input of a benchmark report thread. */
export interface BenchmarkReportJob {
  readonly place: StorePlace;
  readonly asked: Asked;
}

/** Up to this many issues over all arms, a report is made faster than a thread starts. */
const FEW = 200;
const LONGEST_BENCHMARK_MS = 600_000;

/** Makes reports of large benchmarks in threads: thousands of lines take seconds. */
export class ThreadedBenchmarkReports extends StoredBenchmarkReports {
  private readonly threads = new JobThreads<BenchmarkReportJob, string>(
    new URL('./benchmark-report-thread.js', import.meta.url),
    LONGEST_BENCHMARK_MS,
  );

  /** @param place location of the store */
  constructor(
    private readonly place: StorePlace,
    ...stores: readonly [BenchmarkStore, RunStore]
  ) {
    super(...stores);
  }

  override async make(...asked: Asked): Promise<string> {
    const { arms, instances } = await this.planOf(asked[0]);
    if (arms.length * instances.length <= FEW) return super.make(...asked);
    return this.threads.run({ place: this.place, asked });
  }

  onApplicationShutdown(): void {
    this.threads.close();
  }
}

const LONGEST_PART_MS = 60_000;

/** Reads parts of large runs in threads: reading and checking tens of megabytes takes seconds. */
export class ThreadedParts extends LargeRuns {
  private readonly threads = new JobThreads<{ place: StorePlace; job: PartJob }, Uint8Array>(
    new URL('./part-thread.js', import.meta.url),
    LONGEST_PART_MS,
  );

  constructor(private readonly place: StorePlace) {
    super();
  }

  override read(job: PartJob): Promise<Uint8Array> {
    return this.threads.run({ place: this.place, job });
  }

  onApplicationShutdown(): void {
    this.threads.close();
  }
}
