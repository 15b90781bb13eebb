import { z } from 'zod';
import type { Spent } from '../core/budget/budget.js';
import { type OpenRun, type Run, RunStatus } from './run-store.js';

/** `accepting`: the upload is still being read. While `paused` no run begins; running ones continue to their end. */
export const BenchmarkStatus = z.enum(['accepting', 'running', 'paused', 'done', 'failed', 'cancelled']);
export type BenchmarkStatus = z.infer<typeof BenchmarkStatus>;

export const BenchmarkSummary = z.object({
  id: z.string(),
  title: z.string(),
  status: BenchmarkStatus,
  /** Why it stopped early; null = it did not. */
  note: z.string().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export type BenchmarkSummary = z.infer<typeof BenchmarkSummary>;

export interface Benchmark extends BenchmarkSummary {
  readonly submitter: string;
  /** Identifies the settings under which it was accepted: processes with the same settings see it to its end. */
  readonly setup: string;
  /** What is to be done; null until the upload has been read. */
  readonly plan: unknown;
}

/** A benchmark's run as one row of a list, with its grading results. */
export const BenchmarkRun = z.object({
  id: z.string(),
  arm: z.string(),
  instance_id: z.string(),
  status: RunStatus,
  /** Whether it has been released to the workers, which ignore it before that. */
  handed: z.boolean(),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  /** The selected candidate; null also when none was worth returning. */
  candidate_id: z.string().nullable(),
  deciding_stage: z.string().nullable(),
  confidence: z.number().nullable(),
  k: z.int().nullable(),
  tokens: z.number().nullable(),
  cost_usd: z.number().nullable(),
  seconds: z.number().nullable().describe('Wall time of its stages, without queueing.'),
  /** Whether what was selected resolves the issue; to return none is not right. Null = not graded (yet). */
  right: z.boolean().nullable(),
  /**
   * Candidates with a label, the right ones among them, and those without one; null = grading was not
   * attempted.
   */
  graded: z.int().nullable(),
  right_candidates: z.int().nullable(),
  ungraded: z.int().nullable(),
});
export type BenchmarkRun = z.infer<typeof BenchmarkRun>;

/** The runs of an arm that share a status, counted, with their totals. */
export interface BenchmarkCount {
  readonly arm: string;
  readonly status: RunStatus;
  readonly handed: boolean;
  readonly runs: number;
  readonly selected: number;
  readonly graded: number;
  readonly right: number;
  readonly wrong: number;
  readonly tokens: number;
  readonly usd: number | null;
}

/** Figures that require reading a run's result and journal. */
export interface RunEffort {
  readonly distinct_patches: number | null;
  /** Executions of a test on a patch. */
  readonly executions: number;
}

/** The grades of a run's candidates. */
export interface RunGrades {
  readonly right: boolean | null;
  readonly graded: number;
  readonly right_candidates: number;
  readonly ungraded: number;
  /** Best@k by the run's own rule, for k from 1 to at most its number of graded candidates; null = not computed. */
  readonly best: readonly number[] | null;
  /** All grades, see {@link GradeDocument}. */
  readonly document: unknown;
}

/** The parts that are read from a document of grades. */
export const GradeDocument = z.object({
  grades: z.array(
    z.object({
      candidate_id: z.string(),
      /** Null = unknown. */
      resolved: z.boolean().nullable(),
      reason: z.string(),
      tests: z.record(z.string(), z.string()),
    }),
  ),
  ungraded: z.array(z.object({ candidate_id: z.string(), reason: z.string() })),
});
export type GradeDocument = z.infer<typeof GradeDocument>;

/** What curves need of a run's grades. */
export type GradedRun = Pick<RunGrades, 'right' | 'graded' | 'right_candidates' | 'best'> & { readonly arm: string };

export interface NewBenchmark {
  readonly title: string;
  /** Hash of the upload. */
  readonly hash: string;
  readonly submitter: string;
  /** The default is ''. */
  readonly setup?: string;
}

export interface BenchmarkPage {
  readonly benchmarks: readonly BenchmarkSummary[];
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null;
}

/** Filters for a benchmark's runs, which are listed in order of creation. */
export interface BenchmarkRunListing {
  readonly arm?: string | undefined;
  readonly statuses?: readonly RunStatus[] | undefined;
  /** Whether they have been released. */
  readonly handed?: boolean | undefined;
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/** Benchmarks; the RunStore has their runs under the same id. Every method may throw StoreUnavailableError. */
export abstract class BenchmarkStore {
  /** Creates one, or returns the one with this key. @throws BadInputError if the key belongs to another one */
  abstract create(key: string, benchmark: NewBenchmark): Promise<Benchmark>;
  /**
   * Marks the upload as read and its runs as created.
   * @param sealed hidden tests and gold patches by instance
   * @returns false, and changes nothing, if it was begun or cancelled before
   */
  abstract begin(id: string, plan: unknown, sealed: unknown): Promise<boolean>;
  abstract get(id: string): Promise<Benchmark | null>;
  abstract sealed(id: string): Promise<unknown>;
  /** Newest first. @param before `next` of the page before */
  abstract list(limit: number, before: string | null): Promise<BenchmarkPage>;
  /** @returns false, and changes nothing, unless its status is one of `from` */
  abstract change(
    id: string,
    change: Pick<BenchmarkSummary, 'status' | 'note'>,
    from: readonly BenchmarkStatus[],
  ): Promise<boolean>;
  abstract running(): Promise<readonly OpenRun[]>;
  /** Moves a running one to other settings. @returns false, and changes nothing, unless it still has those of `from` */
  abstract adopt(id: string, setup: string, from: string): Promise<boolean>;
  abstract runs(id: string, listing?: BenchmarkRunListing): Promise<readonly BenchmarkRun[]>;
  abstract counts(id: string): Promise<readonly BenchmarkCount[]>;
  /**
   * The runs that can be graded now: all runs of each issue whose runs have all ended, if a done one is not graded yet.
   * Runs of an instance are consecutive.
   */
  abstract gradable(id: string): Promise<readonly BenchmarkRun[]>;
  /** When its latest runs ended, newest first, in ms; at most `limit`. */
  abstract endings(id: string, limit: number): Promise<readonly number[]>;
  /** Keyed by run id. */
  abstract efforts(id: string): Promise<ReadonlyMap<string, RunEffort>>;
  /** Its graded runs, unordered. */
  abstract graded(id: string): Promise<readonly GradedRun[]>;
  /** Releases a run to the workers, or, with false, withholds it. */
  abstract hand(runId: string, handed: boolean): Promise<void>;
  /**
   * Replaces the request of a run that has not been released; a cancelled one may be resumed.
   * @param paid for its rollouts, which are stored; it counts until what the run comes to is known
   */
  abstract ask(runId: string, request: Run['request'], paid: Spent): Promise<void>;
  /**
   * The grades of a run's candidates; null = not graded, or another run of its issue in the benchmark has not ended.
   */
  abstract labels(runId: string): Promise<GradeDocument | null>;
  /** Replaces the run's grades; null deletes them. */
  abstract grade(runId: string, grades: RunGrades | null): Promise<void>;
  /** Deletes the benchmark and its runs. */
  abstract delete(id: string): Promise<void>;
}

/** A report as shown in lists. */
export const ReportSummary = z.object({
  /** Equal for equal reports, however often they are made. */
  id: z.string(),
  title: z.string(),
  /** When it was first made. */
  created_at: z.iso.datetime(),
});
export type ReportSummary = z.infer<typeof ReportSummary>;

/** A report in its two forms. */
export interface StoredReport extends ReportSummary {
  /** `report.json`. */
  readonly document: string;
  /** `report.html`. */
  readonly page: string;
}

export interface ReportPage {
  readonly reports: readonly ReportSummary[];
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null;
}

/** Benchmark reports made from runs. Every method may throw StoreUnavailableError. */
export abstract class ReportStore {
  /** Idempotent. */
  abstract put(report: Omit<StoredReport, 'created_at'>): Promise<void>;
  /** Null if it does not exist. */
  abstract get(id: string): Promise<StoredReport | null>;
  /** Newest first. @param before `next` of the page before */
  abstract list(limit: number, before: string | null): Promise<ReportPage>;
}
