import type { LoggerService } from '@nestjs/common';
import type { AuditEntry, AuditLog } from '../../ports/audit-log.js';
import { type AuditedRequest, DONE } from './audit.js';
import type { RefusedRequest } from '../guard/refusals.js';

const WINDOW_MS = 60_000;
/** Told apart within a minute: beyond, who asks from ever new addresses is counted as one. */
const MOST_KINDS = 100;
const ELSEWHERE = 'many';

export type LoggedAudit = (request: AuditedRequest) => void;

interface AuditorOptions {
  readonly audit: LoggedAudit;
  readonly logger: Pick<LoggerService, 'error'>;
}

/**
 * Keeps the audit log: what changed something at once, what was refused or failed counted by the minute, so that nobody
 * can fill it. An entry that the store does not take is in the process's log, and the request is answered all the same.
 */
export class Auditor {
  private counted = new Map<string, AuditEntry>();
  private readonly timer = setInterval(() => void this.flush(), WINDOW_MS).unref();

  constructor(
    private readonly log: AuditLog,
    private readonly options: AuditorOptions,
  ) {}

  /** Resolves when what was done is written, or cannot be. */
  async note(request: AuditedRequest): Promise<void> {
    this.options.audit(request);
    const { runs, ...entry } = request;
    const entries = (runs.length === 0 ? [null] : runs).map((run_id) => ({ ...entry, run_id, times: 1 }));
    if (entry.outcome === DONE) await this.append(entries);
    else for (const each of entries) this.count(each);
  }

  refused(request: RefusedRequest): void {
    this.count({ ...request, run_id: null, times: 1 });
  }

  /** Writes what was counted. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }

  private async flush(): Promise<void> {
    const counted = [...this.counted.values()];
    this.counted = new Map();
    await this.append(counted);
  }

  private count(entry: AuditEntry): void {
    const isOneTooMany = this.counted.size >= MOST_KINDS && !this.counted.has(keyOf(entry));
    const kind = isOneTooMany ? { ...entry, actor: null, address: ELSEWHERE, run_id: null } : entry;
    const { times } = this.counted.get(keyOf(kind)) ?? { times: 0 };
    this.counted.set(keyOf(kind), { ...kind, times: times + 1 });
  }

  private async append(entries: readonly AuditEntry[]): Promise<void> {
    try {
      await this.log.append(entries);
    } catch (error) {
      this.options.logger.error(`The audit log was not written: ${String(error)} ${JSON.stringify(entries)}`);
    }
  }
}

function keyOf({ action, actor, address, run_id, outcome }: AuditEntry): string {
  return JSON.stringify([action, actor, address, run_id, outcome]);
}
