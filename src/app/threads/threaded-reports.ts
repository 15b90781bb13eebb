import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { rawLines } from '../../io/records/raw-lines.js';
import { SavedLine } from '../../io/saved-runs/saved-line.js';
import { UPLOAD_BOUNDS } from '../../io/saved-runs/saved-run.js';
import { type ReportMade, ReportMaker, type ReportWish } from '../../runs/report-maker.js';
import { JobThreads } from './job-threads.js';

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

const MOST_RUNS = 10_000;
const MOST_LABELS = 1_000_000;
const LARGEST_UPLOAD = 1024 ** 3;

/** What a run or a label says is short; these are parsed where others wait. */
const BOUNDS = { ...UPLOAD_BOUNDS, values: 100_000 };

const Id = z.string().max(512);
const Line = z.union([
  z.strictObject({ run_id: Id }),
  z.strictObject({ against: Id }),
  z.object({ instance_id: Id, candidate_id: Id, resolved: z.boolean().nullable() }),
]);

/** What a report was asked for: runs, runs to compare with, labels by instance and candidate id. */
export interface ReportLines {
  readonly runs: ReadonlySet<string>;
  readonly against: ReadonlySet<string>;
  readonly labels: ReadonlyMap<string, ReadonlyMap<string, boolean>>;
}

/** Reads the lines of an upload as they come. @throws BadInputError naming the line */
export async function reportLines(upload: AsyncIterable<Uint8Array>): Promise<ReportLines> {
  const [runs, against] = [new Set<string>(), new Set<string>()];
  const labels = new Map<string, Map<string, boolean>>();
  let labelled = 0;
  for await (const raw of rawLines(limited(upload), BOUNDS.line)) {
    const saved = new SavedLine(raw, BOUNDS);
    if (saved.isBlank) continue;
    const line = parsed(saved);
    if ('run_id' in line) runs.add(line.run_id);
    else if ('against' in line) against.add(line.against);
    else if (line.resolved !== null) {
      const known = labels.get(line.instance_id) ?? new Map<string, boolean>();
      labels.set(line.instance_id, known.set(line.candidate_id, line.resolved));
      labelled += 1;
    }
    if (runs.size + against.size > MOST_RUNS) throw tooMany(`${MOST_RUNS} runs`, saved.line);
    if (labelled > MOST_LABELS) throw tooMany(`${MOST_LABELS} labels`, saved.line);
  }
  if (runs.size === 0) throw new BadInputError('names no run: send {"run_id": "…"} lines.', { field: 'body' });
  return { runs, against, labels };
}

function tooMany(what: string, line: number): BadInputError {
  return new BadInputError(`names more than ${what}; make several reports.`, { field: 'body', line });
}

function parsed(saved: SavedLine): z.infer<typeof Line> {
  const at = { field: 'body', line: saved.line };
  const read = saved.read();
  if ('problem' in read) throw new BadInputError(`${read.problem}.`, at);
  const line = Line.safeParse(read.value);
  if (line.success) return line.data;
  throw new BadInputError('is not {"run_id"}, {"against"} or {"instance_id", "candidate_id", "resolved"}.', at);
}

async function* limited(upload: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of upload) {
    size += chunk.length;
    if (size > LARGEST_UPLOAD) throw new BadInputError('is larger than 1 GiB.', { field: 'body' });
    yield chunk;
  }
}
