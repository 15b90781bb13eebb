import type { Candidate } from '../../../src/core/run/candidate.js';
import { EXECUTION_FREE } from '../../../src/core/run/measure.js';
import type { VerificationTask, Verifier } from '../../../src/core/run/verifier.js';
import { UNTRACED } from '../../../src/ports/tracer.js';
import { abstained, verdictOf, type Judged } from './judged.js';
import type { JudgeOptions } from './judge-options.js';
import { judgeFitting } from '../render/prompt-of-attempt.js';
import type { Attempt, RenderedAttempt } from '../render/render-trajectory.js';

type Judge = (rendered: RenderedAttempt, signal: AbortSignal) => Promise<Judged>;

/** Scores without and with the agent's thoughts that are further apart than this disagree. */
const DISAGREEMENT = 0.25;

/** A verifier that judges each candidate by itself; with a second opinion, once more without the agent's thoughts. */
export function pointwiseVerifier(options: JudgeOptions, judge: Judge): Verifier {
  return {
    name: 'execution-free',
    measures: [EXECUTION_FREE],
    pointwise: true,
    verify: (task, signal) =>
      oneByOne(task.candidates, async (candidate) => {
        const { candidate_id } = candidate;
        const part = { kind: 'verdict', name: EXECUTION_FREE.name, facts: { candidate: candidate_id } } as const;
        const judged = await (options.tracer ?? UNTRACED).within(part, () =>
          judgeCandidate(options, judge, attemptOf(task, candidate), signal),
        );
        return verdictOf(candidate_id, judged);
      }),
  };
}

/**
 * Starts the work on each item when the one before has sent its first call: the prompts of a thousand candidates are not
 * all made before the first is asked about. How many calls are under way is the model adapter's business.
 */
async function oneByOne<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const started: Promise<R>[] = [];
  for (const item of items) {
    const result = work(item);
    // Told below, with the others; a failure meanwhile is no unhandled one.
    result.catch(() => undefined);
    started.push(result);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return Promise.all(started);
}

/** All that a judge may see of a candidate. */
export function attemptOf({ issue }: Pick<VerificationTask, 'issue'>, { patch, trajectory }: Candidate): Attempt {
  return { issue: issue.problem_statement, steps: trajectory?.steps ?? [], patch };
}

async function judgeCandidate(
  options: JudgeOptions,
  judge: Judge,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<Judged> {
  if (attempt.patch.trim() === '') return abstained('no-source-change', 'the patch is empty');
  const first = await judgeFitting(options, attempt, (rendered) => judge(rendered, signal));
  const hasThoughts = attempt.steps.some(({ thought }) => thought.trim() !== '');
  if (!options.secondOpinion || first.kind !== 'scored' || !hasThoughts) return first;
  const steps = attempt.steps.map((step) => ({ ...step, thought: '' }));
  const second = await judgeFitting(options, { ...attempt, steps }, (rendered) => judge(rendered, signal));
  if (second.kind !== 'scored') return first;
  const disagrees = Math.abs(first.score - second.score) > DISAGREEMENT;
  return { ...first, evidence: { ...first.evidence, without_thoughts: second.score, disagrees } };
}
