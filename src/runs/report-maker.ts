import { z } from 'zod';
import { ReportSummary } from '../ports/report-store.js';

/** What a report is made with beside its runs and labels. */
export interface ReportWish {
  readonly title: string;
  /** Names by comma, or `all`; null = every preset that there are scores for. */
  readonly presets: string | null;
}

export const ReportMade = ReportSummary.pick({ id: true, title: true }).extend({
  runs: z.int(),
  /** Issues of these runs with a label. */
  labelled: z.int(),
});
export type ReportMade = z.infer<typeof ReportMade>;

/** Makes and stores the benchmark report of stored runs. Bound in the composition root. */
export abstract class ReportMaker {
  /**
   * @param upload JSON lines, read once: `{"run_id"}`, `{"against"}` (the id of a run to compare with), and labels
   *   `{"instance_id", "candidate_id", "resolved"}`
   * @throws BadInputError naming the line, RunNotFoundError, RunConflictError for a run that is not done
   */
  abstract make(upload: AsyncIterable<Uint8Array>, wish: ReportWish): Promise<ReportMade>;
}
