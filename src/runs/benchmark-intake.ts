import { z } from 'zod';
import { BenchmarkSummary } from '../ports/benchmark-store.js';
import type { BenchmarkCurves } from './benchmark-service.js';

/** How a benchmark is sent in. */
export interface BenchmarkWish {
  /** What makes asking twice one benchmark. */
  readonly key: string;
  /** The upload is packed. */
  readonly gzip: boolean;
  /** See `RunStore.create`. */
  readonly submitter: string;
}

/** What became of what was sent in. */
export const BenchmarkAccepted = BenchmarkSummary.pick({ id: true, status: true }).extend({
  issues: z.int(),
  runs: z.int(),
  skipped: z.int().describe('Arms’ instances that nothing could be asked of.'),
  rejected: z
    .object({ count: z.int(), first: z.array(z.string()) })
    .describe('Rows that could not be used, the first of them with line and reason.'),
});
export type BenchmarkAccepted = z.infer<typeof BenchmarkAccepted>;

/** Takes a data set and the ways to solve it. Bound in the composition root. */
export abstract class BenchmarkIntake {
  /**
   * @param upload JSON lines, read once, never held whole: the bench file, rows of any known data set, and
   *   `{"arms": [names], "candidate" or "test": {…}}` of arms that have their own
   * @param left aborts when nobody waits for the answer any more
   * @throws BadInputError naming the line, MachineLowError
   */
  abstract take(upload: AsyncIterable<Uint8Array>, wish: BenchmarkWish, left: AbortSignal): Promise<BenchmarkAccepted>;
}

/** What a report is sent as; `plots` = BenchmarkPlots. */
export type ReportFormat = 'json' | 'html' | 'csv' | 'text' | 'plots';

/** Makes the report of a benchmark as it stands. Bound in the composition root. */
export abstract class BenchmarkReports {
  /** @throws RunNotFoundError */
  abstract make(id: string, format: ReportFormat): Promise<string>;
  /** BenchmarkPlots as JSON; drawn once for what is known. @throws RunNotFoundError */
  abstract plots(id: string): Promise<string>;
  /** From what is graded so far. @throws RunNotFoundError */
  abstract curves(id: string): Promise<BenchmarkCurves>;
  /**
   * The selected patch of each run of an arm that has ended, as lines for SWE-bench's harness.
   * @param arm its name; absent = the user's own @throws RunNotFoundError, BadInputError for an arm that is not there
   */
  abstract predictions(id: string, arm: string | undefined): Promise<AsyncIterable<string>>;
}
