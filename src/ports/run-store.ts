import { z } from 'zod';

export const RunStatus = z.enum(['queued', 'running', 'done', 'failed', 'cancelled']);
export type RunStatus = z.infer<typeof RunStatus>;

/** One entry of a run's append-only journal. `seq` counts from 1 within the run, without holes. */
export const RunEvent = z.object({
  seq: z.int().positive(),
  at: z.iso.datetime(),
  type: z.string(),
  data: z.json(),
});
export type RunEvent = z.infer<typeof RunEvent>;

export const Run = z.object({
  id: z.string(),
  status: RunStatus,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  /** The request as it was accepted; opaque to the store. */
  request: z.json(),
  /** What the finished run answers, opaque to the store; null until `done`. */
  result: z.json().nullable(),
  /** Why it failed, in the words of the error; null unless `failed`. */
  failure: z.object({ code: z.string(), message: z.string(), next: z.string() }).nullable(),
});
export type Run = z.infer<typeof Run>;

export interface RunPage {
  readonly runs: readonly Run[];
  /** Give this back as `before` to read on; null at the end. */
  readonly next: string | null;
}

/** Runs and their journals. Every method may throw StoreUnavailableError. */
export abstract class RunStore {
  /**
   * Creates a run, or gives the one that already has this `key` (an Idempotency-Key, or the hash of a command's
   * request), so that asking twice never runs twice. @throws BadInputError when the key is held by another request.
   */
  abstract create(key: string, request: Run['request']): Promise<{ run: Run; created: boolean }>;
  abstract get(id: string): Promise<Run | null>;
  /** Newest first. */
  abstract list(limit: number, before: string | null): Promise<RunPage>;
  abstract withStatus(statuses: readonly RunStatus[]): Promise<readonly Run[]>;
  abstract update(id: string, change: Partial<Pick<Run, 'status' | 'result' | 'failure'>>): Promise<void>;
  abstract append(id: string, type: string, data: RunEvent['data']): Promise<RunEvent>;
  abstract events(id: string, afterSeq: number): Promise<readonly RunEvent[]>;
  abstract delete(id: string): Promise<void>;
}
