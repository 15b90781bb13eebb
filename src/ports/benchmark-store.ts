import { z } from 'zod';
import { type Run, RunStatus } from './run-store.js';

/** `accepting`: what was sent in is still read. A paused one begins nothing more; what is under way goes on to its end. */
export const BenchmarkStatus = z.enum(['accepting', 'running', 'paused', 'done', 'failed', 'cancelled']);
export type BenchmarkStatus = z.infer<typeof BenchmarkStatus>;

export const BenchmarkSummary = z.object({
  id: z.string(),
  title: z.string(),
  status: BenchmarkStatus,
  /** Why it stopped before everything was done; null = it did not. */
  note: z.string().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
});
export type BenchmarkSummary = z.infer<typeof BenchmarkSummary>;

export interface Benchmark extends BenchmarkSummary {
  readonly submitter: string;
  /** What is to be done; null until everything that was sent in is read. */
  readonly plan: unknown;
}

/** A run of a benchmark in a line, with what is known of right and wrong. */
export const BenchmarkRun = z.object({
  id: z.string(),
  arm: z.string(),
  instance_id: z.string(),
  status: RunStatus,
  /** Nobody works on it before it is handed over. */
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
  /** Of its candidates: those with a label, of them those that are right, and those that could not be graded; null = not tried. */
  graded: z.int().nullable(),
  right_candidates: z.int().nullable(),
  ungraded: z.int().nullable(),
});
export type BenchmarkRun = z.infer<typeof BenchmarkRun>;

/** How many runs of an arm stand alike, and what they came to. */
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

/** What only a look at a run's answer and journal says. */
export interface RunEffort {
  readonly distinct_patches: number | null;
  /** Executions of a test on a patch. */
  readonly executions: number;
}

/** What grading said of a run's candidates. */
export interface RunGrades {
  readonly right: boolean | null;
  readonly graded: number;
  readonly right_candidates: number;
  readonly ungraded: number;
  /** Best@k by its own rule, for some k up to its graded candidates; null = not worked out. */
  readonly best: readonly number[] | null;
  /** Every grade. */
  readonly document: unknown;
}

/** What the documents of grades say of candidates. */
export const GradeDocument = z.object({
  grades: z.array(
    z.object({
      candidate_id: z.string(),
      resolved: z.boolean(),
      reason: z.string(),
      tests: z.record(z.string(), z.string()),
    }),
  ),
  ungraded: z.array(z.object({ candidate_id: z.string(), reason: z.string() })),
});
export type GradeDocument = z.infer<typeof GradeDocument>;

/** What is known of a run's candidates, for curves. */
export type GradedRun = Pick<RunGrades, 'right' | 'graded' | 'right_candidates' | 'best'> & { readonly arm: string };

export interface NewBenchmark {
  readonly title: string;
  /** Hash of what was sent in. */
  readonly hash: string;
  readonly submitter: string;
}

export interface BenchmarkPage {
  readonly benchmarks: readonly BenchmarkSummary[];
  /** Where the next page begins; null on the last one. */
  readonly next: string | null;
}

/** Which runs of a benchmark are listed, in the order of their making. */
export interface BenchmarkRunListing {
  readonly arm?: string | undefined;
  readonly statuses?: readonly RunStatus[] | undefined;
  /** Whether they were handed over. */
  readonly handed?: boolean | undefined;
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/** Benchmarks, beside the runs that carry their ids. Every method may throw StoreUnavailableError. */
export abstract class BenchmarkStore {
  /** Creates one, or gives the one that already has this key. @throws BadInputError when the key is another one's */
  abstract create(key: string, benchmark: NewBenchmark): Promise<Benchmark>;
  /** Everything that was sent in is read, and its runs are there. @param sealed hidden tests and gold patches by instance */
  abstract begin(id: string, plan: unknown, sealed: unknown): Promise<void>;
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
  /** Those that are running: id and submitter. */
  abstract running(): Promise<readonly { readonly id: string; readonly submitter: string }[]>;
  abstract runs(id: string, listing?: BenchmarkRunListing): Promise<readonly BenchmarkRun[]>;
  abstract counts(id: string): Promise<readonly BenchmarkCount[]>;
  /**
   * All runs of each issue of which every run has ended, and a done one was not graded yet: what can be graded now. An
   * instance's runs follow each other.
   */
  abstract gradable(id: string): Promise<readonly BenchmarkRun[]>;
  /** When the last of its runs ended, newest first, in ms; at most `limit`. */
  abstract endings(id: string, limit: number): Promise<readonly number[]>;
  /** By run. */
  abstract efforts(id: string): Promise<ReadonlyMap<string, RunEffort>>;
  /** Its runs that were graded, in no order. */
  abstract graded(id: string): Promise<readonly GradedRun[]>;
  /** Has a run taken up by who works on runs, or, with false, no longer. */
  abstract hand(runId: string, handed: boolean): Promise<void>;
  /** Asks something else of a run that was not handed over. */
  abstract ask(runId: string, request: Run['request']): Promise<void>;
  /** What grading said of a run's candidates; null = it was not graded, or a run of its issue in the benchmark has not ended. */
  abstract labels(runId: string): Promise<GradeDocument | null>;
  /** Replaces what was known; null forgets it. */
  abstract grade(runId: string, grades: RunGrades | null): Promise<void>;
  /** With its runs. */
  abstract delete(id: string): Promise<void>;
}

/** A report as lists show it. */
export const ReportSummary = z.object({
  /** The same for the same report, however often it is made. */
  id: z.string(),
  title: z.string(),
  /** When it was made first. */
  created_at: z.iso.datetime(),
});
export type ReportSummary = z.infer<typeof ReportSummary>;

/** A report with its two forms. */
export interface StoredReport extends ReportSummary {
  /** `report.json`. */
  readonly document: string;
  /** `report.html`. */
  readonly page: string;
}

export interface ReportPage {
  readonly reports: readonly ReportSummary[];
  /** Where the next page begins; null on the last one. */
  readonly next: string | null;
}

/** Benchmark reports that were made of runs. Every method may throw StoreUnavailableError. */
export abstract class ReportStore {
  /** Harmless when it is there already. */
  abstract put(report: Omit<StoredReport, 'created_at'>): Promise<void>;
  /** Null when there is none. */
  abstract get(id: string): Promise<StoredReport | null>;
  /** Newest first. @param before `next` of the page before */
  abstract list(limit: number, before: string | null): Promise<ReportPage>;
}
