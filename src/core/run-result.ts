import { z } from 'zod';
import { Cell } from './cell.js';
import { Selection } from './selection.js';
import { Verdict } from './verdict.js';

/** Plain counts of one run's candidates. */
export const RunStatistics = z.object({
  /** How many candidates were given. */
  k: z.int().min(0),
  /** How many of their patches differ once normalised. */
  distinct_patches: z.int().min(0),
  /** How many candidates got at least one score. */
  verified: z.int().min(0),
});
export type RunStatistics = z.infer<typeof RunStatistics>;

/** What a finished run answers, as it is stored. */
export const RunResult = z.object({
  selection: Selection,
  verdicts: z.array(Verdict),
  cells: z.array(Cell),
  /** The selected patch, a unified git diff; null when none was worth returning. */
  patch: z.string().nullable(),
  statistics: RunStatistics,
  /** Tokens, cost and seconds by stage. */
  usage: z.json(),
});
export type RunResult = z.infer<typeof RunResult>;
