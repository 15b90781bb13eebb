import type { Sampler } from '../agent/loop/rollout.js';
import type { Verifier } from '../core/run/verifier.js';
import { type Meter, UNMETERED } from '../ports/meter.js';
import { type Tracer, UNTRACED } from '../ports/tracer.js';

/** Who watches the stages of runs: each is a span and a duration. */
export class StageTelemetry {
  constructor(
    private readonly tracer: Tracer = UNTRACED,
    private readonly meter: Meter = UNMETERED,
  ) {}

  /** @param name one of few */
  async stage<T>(name: string, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    const tell = (outcome: string): void => {
      this.meter.time('bestk_stage_duration_seconds', { stage: name, outcome }, (performance.now() - start) / 1000);
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

  /** The same verifier, as a stage; its verdicts are counted. */
  verifier(verifier: Verifier): Verifier {
    const { name } = verifier;
    return {
      ...verifier,
      verify: async (task, signal) => {
        const verdicts = await this.stage(name, () => verifier.verify(task, signal));
        for (const verdict of verdicts) {
          const outcome = verdict.kind === 'scored' ? 'scored' : verdict.reason;
          // Names of models are no labels of a metric.
          const [measure = ''] = verdict.measure.split(':');
          this.meter.add('bestk_verdicts_total', { measure, outcome });
        }
        return verdicts;
      },
    };
  }

  /** The same sampler, each try a trajectory. @param model of the agent */
  sampler(sampler: Sampler, model: string | null): Sampler {
    return {
      sample: (task, signal) => {
        const facts = { candidate: task.candidateId, sample: task.sample, model: model ?? undefined };
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
