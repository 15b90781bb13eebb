import { BestkError } from '../core/errors/errors.js';
import type { Meter } from '../ports/meter.js';
import type { Run } from '../ports/run-store.js';
import type { Tracer } from '../ports/tracer.js';
import { type Emit, RunExecutor } from './run-executor.js';

/** Says one thing that happened, with facts beside it. */
export type Say = (facts: Readonly<Record<string, unknown>>, message: string) => void;

export interface RunTelemetry {
  readonly meter: Meter;
  readonly tracer: Tracer;
  readonly say: Say;
}

/** Executes runs, each of them timed, traced, and told in the log when it begins and ends. */
export class InstrumentedExecutor extends RunExecutor {
  readonly #inner: RunExecutor;
  readonly #watch: RunTelemetry;

  constructor(inner: RunExecutor, watch: RunTelemetry) {
    super();
    this.#inner = inner;
    this.#watch = watch;
  }

  override setup(): Promise<string> {
    return this.#inner.setup();
  }

  override check(request: Run['request']): void {
    this.#inner.check?.(request);
  }

  override execute(run: Run, emit: Emit, signal: AbortSignal): Promise<Run['result']> {
    return this.#watch.tracer.within({ kind: 'run', name: run.id }, () => this.#perform(run, emit, signal));
  }

  async #perform(run: Run, emit: Emit, signal: AbortSignal): Promise<Run['result']> {
    const { meter, say } = this.#watch;
    const start = performance.now();
    const waited = Math.max(0, Date.now() - Date.parse(run.created_at)) / 1000;
    say({ run_id: run.id, since_asked_s: waited }, 'run begins');
    meter.shift('bestk_runs_executing', {}, 1);
    const tell = (outcome: string, code: string): void => {
      const seconds = (performance.now() - start) / 1000;
      meter.time('bestk_run_duration_seconds', { outcome, code }, seconds);
      say({ run_id: run.id, outcome, code, seconds: Math.round(seconds * 1000) / 1000 }, 'run ends');
    };
    try {
      const result = await this.#inner.execute(run, emit, signal);
      tell('done', '');
      return result;
    } catch (error) {
      if (signal.aborted) tell('stopped', 'interrupted');
      else tell('failed', error instanceof BestkError ? error.code : 'internal');
      throw error;
    } finally {
      meter.shift('bestk_runs_executing', {}, -1);
    }
  }
}
