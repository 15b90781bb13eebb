/** Part of a run's time that sampling may use; the rest is for verifying what was sampled. */
const SAMPLING_SHARE = 0.7;

/** The wall seconds of one execution of a run; null = as long as it takes. */
export class TimeBudget {
  /** Aborts when sampling is to end with what it has; null without a limit. */
  readonly samplingOver: AbortSignal | null;
  /** Aborts when the run is to end with what it has; null without a limit. */
  readonly over: AbortSignal | null;
  private readonly timers: readonly NodeJS.Timeout[];

  constructor(seconds: number | null) {
    const alarms = seconds === null ? [] : [alarm(seconds * SAMPLING_SHARE), alarm(seconds)];
    this.samplingOver = alarms[0]?.signal ?? null;
    this.over = alarms[1]?.signal ?? null;
    this.timers = alarms.map(({ timer }) => timer);
  }

  [Symbol.dispose](): void {
    for (const timer of this.timers) clearTimeout(timer);
  }
}

/** Longest delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

function alarm(seconds: number): { signal: AbortSignal; timer: NodeJS.Timeout } {
  const controller = new AbortController();
  const ring = (): void => {
    controller.abort(new Error('the time of the run is over'));
  };
  return { signal: controller.signal, timer: setTimeout(ring, Math.min(seconds * 1000, LONGEST_MS)).unref() };
}
