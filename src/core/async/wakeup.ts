/** Wakes those of this process who wait for something to happen. */
export class Wakeup {
  /** How often it rang so far. */
  rings = 0;
  private readonly waiting = new Set<() => void>();

  ring(): void {
    this.rings += 1;
    for (const wake of [...this.waiting]) wake();
  }

  /**
   * Waits until it has rung more than `since` times, or for `ms`.
   * @param since `rings` before what is waited for was looked at, so that nothing is slept through
   * @throws the signal's reason
   */
  async wait(since: number, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.rings > since) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener('abort', wake);
      this.waiting.add(wake);
    });
    signal.throwIfAborted();
  }
}
