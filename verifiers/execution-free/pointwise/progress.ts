import type { TrajectoryStep } from '../../../src/core/run/candidate.js';
import { ask, tokensOf } from './ask.js';
import { fitAttempt } from '../render/prompt-of-attempt.js';
import { JUDGEMENT_TAG, readJudgement } from './judgement.js';
import type { JudgeOptions } from './judge-options.js';

const PROMPT = 'verifier/progress';

/** P(YES), 0..1, that a trajectory that is still running may get there; null when the judge cannot be read. */
export type JudgeProgress = (
  issue: string,
  steps: readonly TrajectoryStep[],
  signal: AbortSignal,
) => Promise<number | null>;

/** For stopping hopeless rollouts early. What it cannot judge goes on: it throws only what ends the run. */
export function createProgressJudge(options: JudgeOptions): JudgeProgress {
  return async (issue, steps, signal) => {
    const rendered = await fitAttempt({ issue, steps, patch: '' }, options.tokenizer, options.promptTokens);
    if (rendered === null) return null;
    const { messages } = await options.prompts.render(PROMPT, { ...rendered });
    const asked = await ask(options, { messages, prefill: JUDGEMENT_TAG, sample: 0 }, signal);
    if (asked.kind === 'failed') return null;
    const judgement = readJudgement(tokensOf(asked.completion, options.prefill ? JUDGEMENT_TAG : null));
    return judgement.kind === 'read' && judgement.mass >= options.minMass ? judgement.yes : null;
  };
}
