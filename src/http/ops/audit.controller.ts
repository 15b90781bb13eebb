import { Controller, Get, Query } from '@nestjs/common';
import { z } from 'zod';
import { AuditLog, AuditRecord } from '../../ports/audit-log.js';
import { RunId } from '../runs/run-params.js';

const MAX_LIMIT = 1_000;

export const AuditQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(100),
  cursor: RunId.optional(),
  run_id: RunId.optional(),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

export const AuditView = z.object({ entries: z.array(AuditRecord), next_cursor: z.string().nullable() });
export type AuditView = z.infer<typeof AuditView>;

@Controller('v1/audit')
export class AuditController {
  constructor(private readonly log: AuditLog) {}

  /** Needs a key with the scope `admin`. */
  @Get()
  async list(@Query({ schema: AuditQuery }) { limit, cursor, run_id }: AuditQuery): Promise<AuditView> {
    const { entries, next } = await this.log.list(limit, cursor ?? null, run_id);
    return { entries: [...entries], next_cursor: next };
  }
}
