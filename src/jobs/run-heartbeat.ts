/** Repeats a beat until it is stopped; stopping waits for the one under way, so that none comes late. */
export class RunHeartbeat {
  private readonly timer: NodeJS.Timeout;
  private last: Promise<void> = Promise.resolve();

  /** @param beat never rejects */
  constructor(everyMs: number, beat: () => Promise<void>) {
    this.timer = setInterval(() => {
      this.last = Promise.all([this.last, beat()]).then(() => undefined);
    }, everyMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.last;
  }
}
