import type { Sampler, SampleTask } from '../agent/rollout.js';
import { secondsSince } from '../core/async/time.js';
import { BestkError } from '../core/errors/errors.js';
import type { Verifier } from '../core/run/verifier.js';
import { type Meter, UNMETERED, type Tracer, UNTRACED } from '../ports/telemetry.js';
import type { Run } from '../ports/run-store.js';
import { type Execution, RunExecutor } from './run-dependencies.js';

/** Logs an event with structured facts. */
export type Say = (facts: Readonly<Record<string, unknown>>, message: string) => void;

interface RunTelemetry {
  readonly meter: Meter;
  readonly tracer: Tracer;
  readonly say: Say;
}

/** Executes runs with metrics, traces and a log entry at start and end. */
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

  override execute(...given: Execution): Promise<Run['result']> {
    return this.#watch.tracer.within({ kind: 'run', name: given[0].id }, () => this.#perform(...given));
  }

  async #perform(...given: Execution): Promise<Run['result']> {
    const [run, , signal] = given;
    const { meter, say } = this.#watch;
    const start = performance.now();
    const waited = Math.max(0, Date.now() - Date.parse(run.created_at)) / 1000;
    say({ run_id: run.id, since_asked_s: waited }, 'run begins');
    meter.shift('bestk_runs_executing', {}, 1);
    const tell = (outcome: string, code: string): void => {
      const seconds = secondsSince(start);
      meter.time('bestk_run_duration_seconds', { outcome, code }, seconds);
      say({ run_id: run.id, outcome, code, seconds: Math.round(seconds * 1000) / 1000 }, 'run ends');
    };
    try {
      const result = await this.#inner.execute(...given);
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

/** Telemetry for the stages of runs: each gets a span and a duration. */
export class StageTelemetry {
  constructor(
    private readonly tracer: Tracer = UNTRACED,
    private readonly meter: Meter = UNMETERED,
  ) {}

  /** @param name from a small fixed set */
  async stage<T>(name: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const tell = (outcome: string): void => {
      this.meter.time('bestk_stage_duration_seconds', { stage: name, outcome }, secondsSince(start));
    };
    return this.tracer.within({ kind: 'stage', name }, async () => {
      try {
        const result = await work();
        tell('ok');
        return result;
      } catch (error) {
        tell('failed');
        throw error;
      }
    });
  }

  /** The same verifier, recorded as a stage, with its verdicts counted. */
  verifier(verifier: Verifier): Verifier {
    const { name } = verifier;
    return {
      ...verifier,
      verify: async (task, signal) => {
        const verdicts = await this.stage(name, () => verifier.verify(task, signal));
        for (const verdict of verdicts) {
          const outcome = verdict.kind === 'scored' ? 'scored' : verdict.reason;
          // Model names are not used as metric labels.
          const [measure = ''] = verdict.measure.split(':');
          this.meter.add('bestk_verdicts_total', { measure, outcome });
        }
        return verdicts;
      },
    };
  }

  /**
   * The same sampler, recording each rollout as a trajectory.
   * @param modelOf the model that makes the rollout
   */
  sampler(sampler: Sampler, modelOf: (task: SampleTask) => string | null): Sampler {
    return {
      sample: (task, signal) => {
        const facts = { candidate: task.candidateId, sample: task.sample, model: modelOf(task) ?? undefined };
        return this.tracer.within({ kind: 'trajectory', name: 'bestk', facts }, async (open) => {
          const rollout = await sampler.sample(task, signal);
          const { exit_reason } = rollout;
          open.note({ exit_reason, steps: rollout.steps.length });
          this.meter.add('bestk_trajectories_total', { exit_reason });
          return rollout;
        });
      },
    };
  }
}
