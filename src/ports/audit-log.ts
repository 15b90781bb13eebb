import { z } from 'zod';

/** One thing that somebody did, or was not let do. */
export const AuditEntry = z.object({
  /** `run.cancel`; of what was refused unread, method and path: `DELETE /v1/runs/{id}`. */
  action: z.string(),
  /** Name of the API key, never the key; null where none was right or none is needed. */
  actor: z.string().nullable(),
  /** From where; a proxy's when it came through one. */
  address: z.string(),
  run_id: z.string().nullable(),
  /** `done`, or the code of the problem that was answered. */
  outcome: z.string(),
  /** How often within a minute: refusals are counted, what changed something stands alone. */
  times: z.int().min(1),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditRecord = AuditEntry.extend({ id: z.string(), at: z.iso.datetime() });
export type AuditRecord = z.infer<typeof AuditRecord>;

export interface AuditPage {
  readonly entries: readonly AuditRecord[];
  /** Where the next page begins; null on the last one. */
  readonly next: string | null;
}

/** Who did what: it only grows, but for what Retention forgets. Every method may throw StoreUnavailableError. */
export abstract class AuditLog {
  /** All of them or none. */
  abstract append(entries: readonly AuditEntry[]): Promise<void>;
  /** Newest first. @param before `next` of the page before @param runId those of this run alone */
  abstract list(limit: number, before: string | null, runId?: string): Promise<AuditPage>;
}
