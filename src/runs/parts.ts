import { z } from 'zod';
import { WarmStarts } from '../core/async/single-flight.js';
import type { TokenCounts } from '../core/budget/budget.js';
import { inRun } from '../core/async/run-context.js';
import { CellJob } from '../core/run/generated-test.js';
import { EarlierTries, Inspection } from '../core/run/rollout.js';
import { RunRequest } from '../core/run/run-request.js';
import { InterruptedError } from '../core/errors/errors.js';
import { ImageMissingError } from '../core/errors/unavailable.js';
import { type JobHandler, NotNowError, type Work } from '../jobs/jobs.js';
import { Completion, CompletionRequest } from '../ports/llm-client.js';
import { hasEnded, type PartKind, type RunStore } from '../ports/run-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import { Accounted, type RunDependencies, type RunDependenciesFactory } from './run-dependencies.js';
import type { RunSettings } from './run-worker.js';

/*
 * Parts of a run that any process with the same settings may do, as jobs. What they come to is stored under content keys,
 * where the run's own process finds it.
 */

const OfRun = {
  run_id: z.string(),
  /** For people who follow the run. */
  label: z.string(),
};
/** The image as the run's process has it: results of another would be another's. */
const InImage = { image_id: z.string() };

export const RolloutPart = z.object({
  ...OfRun,
  ...InImage,
  candidate_id: z.string(),
  sample: z.int(),
  /** Which of the run's agents is to make it; null = its only one. */
  agent: z.string().nullable().default(null),
  earlier: EarlierTries.optional(),
  /** A judge's look at a patch, in place of a try at the issue. */
  inspection: Inspection.optional(),
});
export const CallPart = z.object({ ...OfRun, request: CompletionRequest });
export const CellsPart = z.object({ ...OfRun, ...InImage, job: CellJob });

export interface PartTools {
  readonly runs: RunStore;
  readonly sandbox: Sandbox;
  readonly dependencies: RunDependenciesFactory;
  readonly settings: RunSettings;
  /** How many of a kind this process does at once. */
  readonly atOnce: Readonly<Record<'rollout' | 'call' | 'cells', number>>;
}

const none = (): Promise<void> => Promise.resolve();
const NOTHING = { cell: none, admission: none, existing: none };
/** How long a part is left to others that have its image. */
const NOT_HERE_MS = 2_000;
const MOST_KEPT = 32;

/** What the parts of one run share in a process: what the image's code was compiled to, and the prompt in the server's cache. */
interface Shared {
  readonly cells: RunDependencies['cells'];
  readonly warm: WarmStarts;
}

/** Does parts of any run with what the settings of this process give. */
export class PartHandlers {
  private readonly shared = new Map<string, Shared>();

  constructor(private readonly tools: PartTools) {}

  all(): readonly JobHandler[] {
    const { atOnce, settings } = this.tools;
    const canCompute = async (): Promise<boolean> => (await settings.room.shortage()) === null;
    // No container is needed for it.
    const canAsk = async (): Promise<boolean> => (await settings.room.shortage(['store'])) === null;
    return [
      {
        kind: 'rollout',
        payload: RolloutPart,
        result: Accounted,
        atOnce: atOnce.rollout,
        mayBegin: canCompute,
        perform: (part: z.infer<typeof RolloutPart>, work: Work) =>
          this.within(part.inspection === undefined ? 'rollout' : 'verdict', part, work, () =>
            this.rollout(part, work.signal),
          ),
      },
      {
        kind: 'call',
        payload: CallPart,
        result: Completion,
        atOnce: atOnce.call,
        mayBegin: canAsk,
        perform: (part: z.infer<typeof CallPart>, work: Work) =>
          this.within(part.request.purpose === 'judge' ? 'verdict' : 'call', part, work, () =>
            this.tools.dependencies.complete(part.request, work.signal),
          ),
      },
      {
        kind: 'cells',
        payload: CellsPart,
        result: z.object({}),
        atOnce: atOnce.cells,
        mayBegin: canCompute,
        perform: (part: z.infer<typeof CellsPart>, work: Work) =>
          this.within('cells', part, work, async () => {
            await this.inImage(part, part.job.environment.image, work.signal, () =>
              this.sharedOf(part.run_id).cells(part.job, work.signal),
            );
            return {};
          }),
      },
    ] as readonly JobHandler[];
  }

  /** In the name of the run, whoever asked for it. */
  private within<T>(
    kind: PartKind,
    { run_id, label }: { readonly run_id: string; readonly label: string },
    { attempt }: Work,
    work: () => Promise<T>,
  ): Promise<T> {
    const { runs, settings } = this.tools;
    return inRun(run_id, async () => {
      if (hasEnded((await runs.statusOf(run_id)) ?? 'cancelled')) throw new InterruptedError();
      const start = performance.now();
      const done = await work();
      const seconds = Math.round(performance.now() - start) / 1000;
      const told = { kind, label, worker: settings.process, attempts: attempt, seconds };
      // Who asked may have ended meanwhile.
      await runs.append(run_id, 'part', told).catch(() => undefined);
      return done;
    });
  }

  private async rollout(part: z.infer<typeof RolloutPart>, signal: AbortSignal): Promise<Accounted> {
    const { runs, dependencies } = this.tools;
    const { run_id: runId, sample, agent: whose, candidate_id: candidateId, earlier, inspection } = part;
    const { issue, budget, agent, agents, verifiers } = RunRequest.parse((await runs.get(runId))?.request);
    const { warm } = this.sharedOf(runId);
    const name = inspection === undefined ? `${whose ?? 'rollout'} ${sample}` : candidateId;
    const work = { runId, part: name, budget, agent, agents, verifiers, tries: 1, warm };
    const deps = dependencies.create(NOTHING, work);
    const done = (): Accounted => ({ usage: [...deps.usage()], spent: { ...deps.ledger.spent() } });
    if (inspection !== undefined) {
      await this.inImage(part, issue.environment.image, signal, () => deps.inspect(issue, inspection, signal));
      return done();
    }
    if (deps.sampler === null) throw new Error('A trajectory was asked for, and no agent model is configured.');
    const { sampler, ledger } = deps;
    const task = {
      issue,
      candidateId,
      sample,
      agent: whose,
      earlier,
      stopAt: null,
      onStep: async (step: object) => {
        await runs.append(runId, 'step', { ...step });
      },
      onKnown: (model: string, spent: TokenCounts) => ledger.charge(model, spent),
    };
    await this.inImage(part, issue.environment.image, signal, () => sampler.sample(task, signal));
    return done();
  }

  private sharedOf(runId: string): Shared {
    const none = { runId, part: '', budget: null, tries: 1 };
    const shared = this.shared.get(runId) ?? {
      cells: this.tools.dependencies.create(NOTHING, none).cells,
      warm: new WarmStarts(),
    };
    // The one used last is the last to be forgotten.
    this.shared.delete(runId);
    this.shared.set(runId, shared);
    const [oldest] = this.shared.keys();
    if (this.shared.size > MOST_KEPT && oldest !== undefined) this.shared.delete(oldest);
    return shared;
  }

  /** @throws NotNowError where the image is missing, or another has its name: others may have it */
  private async inImage<T>(
    { image_id }: { readonly image_id: string },
    image: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const { sandbox } = this.tools;
    const found = await sandbox.describeImage(image, signal).catch((error: unknown) => {
      if (error instanceof ImageMissingError) return null;
      throw error;
    });
    if (found?.id !== image_id) throw new NotNowError(NOT_HERE_MS);
    return sandbox.keeping(image, work);
  }
}
