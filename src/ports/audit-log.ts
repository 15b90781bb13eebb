import { z } from 'zod';

/** One action of a client, or one that was refused. */
export const AuditEntry = z.object({
  /** `run.cancel`; for requests refused before parsing, method and path: `DELETE /v1/runs/{id}`. */
  action: z.string(),
  /** Name of the API key, never the key; null if no valid key was given or none is needed. */
  actor: z.string().nullable(),
  /** Client address; the proxy's if the request came through one. */
  address: z.string(),
  run_id: z.string().nullable(),
  /** `done`, or the code of the problem in the response. */
  outcome: z.string(),
  /** Occurrences within a minute: refusals are aggregated, changes are logged one by one. */
  times: z.int().min(1),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditRecord = AuditEntry.extend({ id: z.string(), at: z.iso.datetime() });
export type AuditRecord = z.infer<typeof AuditRecord>;

export interface AuditPage {
  readonly entries: readonly AuditRecord[];
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null;
}

/** A log of client actions, append-only except for Retention. Every method may throw StoreUnavailableError. */
export abstract class AuditLog {
  /** Appends all entries or none. */
  abstract append(entries: readonly AuditEntry[]): Promise<void>;
  /** Newest first. @param before `next` of the page before @param runId only entries of this run */
  abstract list(limit: number, before: string | null, runId?: string): Promise<AuditPage>;
}
