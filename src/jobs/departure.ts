/** The end of a process: it takes no further work, and what is under way may go on for a while. */
export class Departure {
  private endsAt: number | null = null;

  constructor(private readonly drainMs: number) {}

  get hasBegun(): boolean {
    return this.endsAt !== null;
  }

  /** Again is harmless, and gives no more time. */
  begin(): void {
    this.endsAt ??= performance.now() + this.drainMs;
  }

  /** Waits for work that was under way when it began, but no longer than that may go on. */
  async waitFor(work: Promise<unknown>): Promise<void> {
    if (this.endsAt !== null) await atMost(this.endsAt - performance.now(), work);
  }
}

/** Waits for `work`, but no longer than `ms`. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, Math.max(0, ms))));
  await Promise.race([work, over]);
  clearTimeout(timer);
}
