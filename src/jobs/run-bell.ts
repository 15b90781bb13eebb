/** Wakes those who follow a run in this process. It carries no news: who wakes looks into the store. */
export class RunBell {
  private readonly alarms = new Map<string, Set<RunAlarm>>();

  ring(runId: string): void {
    for (const alarm of this.alarms.get(runId) ?? []) alarm.go();
  }

  ringAll(): void {
    for (const runId of this.alarms.keys()) this.ring(runId);
  }

  /** Set before looking, so that what happens while looking is not slept through. */
  set(runId: string): RunAlarm {
    const others = this.alarms.get(runId) ?? new Set();
    const alarm = new RunAlarm(() => {
      others.delete(alarm);
      if (others.size === 0) this.alarms.delete(runId);
    });
    this.alarms.set(runId, others.add(alarm));
    return alarm;
  }
}

export class RunAlarm {
  private readonly rung: Promise<void>;
  private resolve: () => void = () => undefined;

  constructor(private readonly forget: () => void) {
    this.rung = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  go(): void {
    this.resolve();
  }

  /** Resolves on the next ring, after `ms` (null = never), or when `signal` aborts. */
  async wait(ms: number | null, signal: AbortSignal): Promise<void> {
    const go = (): void => {
      this.go();
    };
    const timer = ms === null ? undefined : setTimeout(go, ms);
    signal.addEventListener('abort', go, { once: true });
    if (signal.aborted) go();
    try {
      await this.rung;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', go);
    }
  }

  [Symbol.dispose](): void {
    this.forget();
  }
}
