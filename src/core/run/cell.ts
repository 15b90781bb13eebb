import { z } from 'zod';
import { GeneratedTest } from './generated-test.js';
import { Environment } from './issue.js';

/** What one execution said. The last five say nothing about the patch being right and are told apart in reports. */
export const CellOutcome = z.enum([
  'solved',
  'not-solved',
  /** The script ended in another way than its protocol allows, or its proof (the nonce) is missing. */
  'crashed',
  'timed-out',
  'out-of-memory',
  'out-of-disk',
  /** The patch has tests pass whatever they say: a control that no code can pass did. */
  'forged',
]);
export type CellOutcome = z.infer<typeof CellOutcome>;

/** One line of `matrix.jsonl`: a generated test, or the regression set, on base or on one candidate. */
export const Cell = z.object({
  instance_id: z.string(),
  candidate_id: z.string().nullable().describe('null = base, the repository without any patch'),
  /** The candidate whose run this is, when it was not this one's: equal patches are executed once. */
  same_as: z.string().nullable(),
  suite: z.enum(['reproduction', 'regression']),
  test_id: z.string(),
  outcome: CellOutcome,
  exit_code: z.int().nullable(),
  duration_ms: z.number().min(0),
  /** Regression only: stable base passes that passed here, of how many, and which did not. */
  passed: z.int().nullable(),
  total: z.int().nullable(),
  lost: z.array(z.string()),
  /** End of the output, at most 4,000 characters, for people to read. */
  log_tail: z.string(),
  /** What a test with an expectation observed: its hash, and how it begins. */
  observed: z.object({ sha256: z.string(), preview: z.string() }).exactOptional(),
});
export type Cell = z.infer<typeof Cell>;

/** A batch of cells: tests, or the regression command, on one tree. Its results are stored by what they depend on. */
export const CellJob = z.object({
  instance_id: z.string(),
  environment: Environment,
  /** Source patch on top of base; null = base itself. */
  tree: z.string().nullable(),
  /** Which of the equal runs on the tree this is. */
  repeat: z.int().min(0),
  /** Null = the regression command. */
  tests: z.array(GeneratedTest).nullable(),
});
export type CellJob = z.infer<typeof CellJob>;

/** Has a job done where there is room for it; what is not stored afterwards is to be executed here. @throws what ended it */
export type RemoteExecutor = (job: CellJob, signal: AbortSignal) => Promise<void>;
