import { hasEnded, type RunEvent, type RunHead, type RunStore } from '../ports/run-store.js';
import type { RunSettings } from './run-settings.js';

/** A journal can be longer than memory is large. */
const EVENTS_AT_ONCE = 500;

interface Followed {
  followers: number;
  /** As it was last seen. */
  head: RunHead | undefined;
}

/**
 * Those who follow runs. They are rung for by this process; what other processes did is found out by asking the store
 * once for all runs, however many follow them.
 */
export class RunFollowers {
  private readonly followed = new Map<string, Followed>();
  private telemetry = false;

  constructor(
    private readonly store: Pick<RunStore, 'heads' | 'statusOf' | 'events'>,
    private readonly settings: Pick<RunSettings, 'bell' | 'pollMs' | 'departure'>,
  ) {}

  /** See RunService.follow. */
  async *follow(id: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<RunEvent, void> {
    let seq = afterSeq;
    this.begin(id);
    try {
      while (!signal.aborted && !this.settings.departure.hasBegun) {
        using alarm = this.settings.bell.set(id);
        const status = await this.store.statusOf(id);
        const events = await this.store.events(id, seq, EVENTS_AT_ONCE);
        for (const event of events) {
          yield event;
          seq = event.seq;
        }
        const isAll = events.length < EVENTS_AT_ONCE;
        if (isAll && (status === null || hasEnded(status))) return;
        if (events.length === 0) await alarm.wait(null, signal);
      }
    } finally {
      this.end(id);
    }
  }

  private begin(id: string): void {
    const entry = this.followed.get(id) ?? { followers: 0, head: undefined };
    entry.followers += 1;
    this.followed.set(id, entry);
    if (!this.telemetry) void this.watch();
  }

  private end(id: string): void {
    const entry = this.followed.get(id);
    if (entry === undefined) return;
    entry.followers -= 1;
    if (entry.followers === 0) this.followed.delete(id);
  }

  private async watch(): Promise<void> {
    this.telemetry = true;
    while (this.followed.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, this.settings.pollMs));
      const ids = [...this.followed.keys()];
      // Where the store cannot be asked, everybody looks and hears why.
      const heads = await this.store.heads(ids).catch(() => null);
      for (const id of ids) if (heads === null || this.hasMoved(id, heads.get(id))) this.settings.bell.ring(id);
    }
    this.telemetry = false;
  }

  private hasMoved(id: string, head: RunHead | undefined): boolean {
    const entry = this.followed.get(id);
    if (entry === undefined) return false;
    const isSame = head !== undefined && head.seq === entry.head?.seq && head.status === entry.head.status;
    entry.head = head;
    return !isSame;
  }
}
