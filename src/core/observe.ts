import { z } from 'zod';
import type { Cell } from './cell.js';

/** Whether a generated test takes part in the verification, and why not. */
export const Admission = z.object({
  test_id: z.string(),
  admitted: z.boolean(),
  /** Null when admitted. */
  reason: z.string().nullable(),
});
export type Admission = z.infer<typeof Admission>;

/** Told of each intermediate result when it exists; what verifiers report beside their verdicts. */
export interface Observe {
  cell(cell: Cell): Promise<void>;
  admission(admissions: readonly Admission[]): Promise<void>;
}
