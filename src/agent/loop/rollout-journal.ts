import { z } from 'zod';
import { contentKey } from '../../core/identifier.js';
import { Rollout } from '../../core/run/rollout.js';
import { Completion } from '../../ports/llm-client.js';
import type { ResultStore } from '../../ports/result-store.js';

/** A finished step, with what is needed to continue after it. */
export const StepRecord = z.object({
  /** Without log-probabilities. */
  completion: Completion,
  /** As shown to the model, without the count of remaining steps. */
  observation: z.string(),
  exit_code: z.int().nullable(),
  /** Whether the action is repeated to rebuild the container. */
  repeat: z.boolean(),
  malformed: z.boolean(),
  /** Whether the agent tried to finish and was told what is wrong with its work instead. */
  refused: z.boolean().default(false),
  /** Number of preceding actions that are not repeated, because no command could start after them. */
  withdrawn: z.int().min(0).default(0),
  llm_s: z.number(),
  env_s: z.number(),
});
export type StepRecord = z.infer<typeof StepRecord>;

const timeless = (step: StepRecord): object => ({ ...step, llm_s: 0, env_s: 0 });

/**
 * Stored steps of one rollout, keyed by the hash of everything it depends on. Each step is stored as soon as it is done, so
 * that a killed rollout continues after its last step without repeating a model call.
 */
export class RolloutJournal {
  private constructor(
    private readonly results: ResultStore,
    readonly key: string,
  ) {}

  /** @param identity everything the rollout depends on */
  static of(results: ResultStore, identity: unknown): RolloutJournal {
    return new RolloutJournal(results, contentKey({ kind: 'rollout', identity }));
  }

  /** The steps done so far, in order. @throws StoreUnavailableError */
  async steps(): Promise<StepRecord[]> {
    const steps: StepRecord[] = [];
    for (;;) {
      const stored = StepRecord.safeParse(await this.results.get(this.stepKey(steps.length)));
      if (!stored.success) return steps;
      steps.push(stored.data);
    }
  }

  /**
   * @param index from 0
   * @returns false if another process that does the same rollout had stored another step before, so that the given one is void;
   * times do not count
   * @throws StoreUnavailableError
   */
  async add(index: number, step: StepRecord): Promise<boolean> {
    const stored = StepRecord.safeParse(await this.results.putFirst(this.stepKey(index), 'rollout-step', step));
    return !stored.success || contentKey(timeless(stored.data)) === contentKey(timeless(step));
  }

  /** @throws StoreUnavailableError */
  async finished(): Promise<Rollout | null> {
    const stored = Rollout.safeParse(await this.results.get(this.endKey));
    return stored.success ? stored.data : null;
  }

  /** @returns the rollout as stored, by whichever process was first @throws StoreUnavailableError */
  async finish(rollout: Rollout): Promise<Rollout> {
    const stored = Rollout.safeParse(await this.results.putFirst(this.endKey, 'rollout', rollout));
    return stored.success ? stored.data : rollout;
  }

  private stepKey(index: number): string {
    return contentKey({ rollout: this.key, step: index });
  }

  private get endKey(): string {
    return contentKey({ rollout: this.key, step: 'end' });
  }
}
