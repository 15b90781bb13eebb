const TICKS_PER_MS = 1_000;
const TICK_DIGITS = 11;

/** Makes ids that sort by creation time: `run_`, or another beginning, 11 base-36 digits of microseconds, 12 random hex digits. */
export class RunIdSource {
  private lastTick = 0;

  constructor(private readonly prefix = 'run_') {}

  /** @param now milliseconds since 1970; ids of one source ascend even when the clock stands still or steps back */
  next(now: number): string {
    this.lastTick = Math.max(now * TICKS_PER_MS, this.lastTick + 1);
    const random = globalThis.crypto.randomUUID().slice(-12);
    return `${this.prefix}${this.lastTick.toString(36).padStart(TICK_DIGITS, '0')}${random}`;
  }
}
