import type { ModelCall } from '../core/run/verifier.js';
import type { Emit } from './run-executor.js';

/** An answer of the store comes sooner, and is not told. */
const EVERY_MS = 500;

/** Whom the agent asks is told step by step. */
const TOLD_OTHERWISE = 'agent';

/** Tells, at most twice a second, which model calls of a run are under way: those of a judge take long, and end all at once. */
export class CallsUnderWay implements Disposable {
  private readonly open = new Map<symbol, ModelCall & { readonly since: number }>();
  private timer: NodeJS.Timeout | null = null;
  private isTold = false;
  private isOver = false;

  constructor(
    private readonly emit: Emit,
    private readonly everyMs = EVERY_MS,
  ) {}

  /** @returns to be called when it has ended */
  begin(call: ModelCall): () => void {
    if (call.purpose === TOLD_OTHERWISE) return () => undefined;
    const id = Symbol(call.purpose);
    this.open.set(id, { ...call, since: Date.now() });
    this.plan();
    return () => {
      this.open.delete(id);
      this.plan();
    };
  }

  [Symbol.dispose](): void {
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private plan(): void {
    if (this.isOver) return;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.tell();
    }, this.everyMs).unref();
  }

  private tell(): void {
    if (this.open.size === 0 && !this.isTold) return;
    this.isTold = this.open.size > 0;
    const groups = new Map<string, { purpose: string; model: string; calls: number; since: string }>();
    for (const { purpose, model, since } of this.open.values()) {
      const key = JSON.stringify([purpose, model]);
      const known = groups.get(key) ?? { purpose, model, calls: 0, since: new Date(since).toISOString() };
      groups.set(key, { ...known, calls: known.calls + 1 });
    }
    // Who works on the run learns by other ways that it is to stop.
    this.emit('calls', { under_way: [...groups.values()] }).catch(() => undefined);
  }
}
