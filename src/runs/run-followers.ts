import { abortable } from '../core/async/deadline.js';
import { hasEnded, type RunEvent, type RunHead, type RunStore } from '../ports/run-store.js';
import type { RunSettings } from './run-settings.js';

/** A journal can be longer than memory is large. */
const EVENTS_AT_ONCE = 500;

interface Followed {
  followers: number;
  /** As it was last seen. */
  head: RunHead | undefined;
  /** Resolves when somebody should look again; there is another then. */
  moved: Promise<void>;
  wake: () => void;
}

/** Those who follow runs, whichever process works on them: the store is asked once for all runs, however many follow them. */
export class RunFollowers {
  private readonly followed = new Map<string, Followed>();
  private isLooking = false;
  private isClosed = false;

  constructor(
    private readonly store: Pick<RunStore, 'heads' | 'statusOf' | 'events'>,
    private readonly settings: Pick<RunSettings, 'pollMs'>,
  ) {}

  /** See RunService.follow. */
  async *follow(id: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<RunEvent, void> {
    let seq = afterSeq;
    const entry = this.begin(id);
    try {
      while (!signal.aborted && !this.isClosed) {
        // Before it is looked at, so that what happens meanwhile is not slept through.
        const { moved } = entry;
        const status = await this.store.statusOf(id);
        const events = await this.store.events(id, seq, EVENTS_AT_ONCE);
        for (const event of events) {
          yield event;
          seq = event.seq;
        }
        const isAll = events.length < EVENTS_AT_ONCE;
        if (isAll && (status === null || hasEnded(status))) return;
        if (events.length === 0) await abortable(moved, signal).catch(() => undefined);
      }
    } finally {
      entry.followers -= 1;
      if (entry.followers === 0) this.followed.delete(id);
    }
  }

  /** Ends all that follow, when they have read what there is. */
  close(): void {
    this.isClosed = true;
    for (const id of this.followed.keys()) this.wake(id);
  }

  private wake(id: string): void {
    const entry = this.followed.get(id);
    entry?.wake();
    if (entry !== undefined) rearm(entry);
  }

  private begin(id: string): Followed {
    const fresh = { followers: 0, head: undefined, moved: Promise.resolve(), wake: () => undefined };
    const entry = this.followed.get(id) ?? rearm(fresh);
    entry.followers += 1;
    this.followed.set(id, entry);
    if (!this.isLooking) void this.look();
    return entry;
  }

  private async look(): Promise<void> {
    this.isLooking = true;
    while (this.followed.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, this.settings.pollMs));
      const ids = [...this.followed.keys()];
      // Where the store cannot be asked, everybody looks and hears why.
      const heads = await this.store.heads(ids).catch(() => null);
      for (const id of ids) if (heads === null || this.hasMoved(id, heads.get(id))) this.wake(id);
    }
    this.isLooking = false;
  }

  private hasMoved(id: string, head: RunHead | undefined): boolean {
    const entry = this.followed.get(id);
    if (entry === undefined) return false;
    const isSame = head !== undefined && head.seq === entry.head?.seq && head.status === entry.head.status;
    entry.head = head;
    return !isSame;
  }
}

function rearm(entry: Followed): Followed {
  entry.moved = new Promise((resolve) => (entry.wake = resolve));
  return entry;
}
