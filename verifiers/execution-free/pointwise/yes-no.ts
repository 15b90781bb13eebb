import type { TrajectoryStep } from '../../../src/core/run/candidate.js';
import type { Verifier } from '../../../src/core/run/verifier.js';
import {
  ask,
  type Asked,
  askWarm,
  prefilled,
  type Question,
  tokensOf,
  unusedLogprobs,
  type Judgement,
  JUDGEMENT_TAG,
  readJudgement,
  statedJudgement,
} from '../ask.js';
import type { JudgeOptions } from '../judge-options.js';
import { renderYesNo } from '../render/question.js';
import { fitAttempt, type RenderedAttempt } from '../render/render-attempt.js';
import { numericGrade, abstained, type InTurn, type Judged, mean, pointwiseVerifier } from './pointwise.js';

/** Number of votes if the server gives no log-probabilities. */
export const VOTES = 8;

/**
 * P(YES) that the patch resolves the issue, 0..1: from the log-probabilities of the verdict (SWE-Gym, R2E-Gym, DeepSWE);
 * without any, from sampled votes; without readable votes, from a numeric grade. `evidence.method` names the method.
 */
export function createYesNoVerifier(given: JudgeOptions): Verifier {
  // A trained layout needs the record, and has no room for sections or for reasons before the verdict.
  const trained = { show: [], think: false, patchAlone: false } as const;
  const options = given.prompt === 'verifier/yes-no' ? given : { ...given, ...trained };
  return pointwiseVerifier(options, (rendered, signal, inTurn) => judge(options, rendered, signal, inTurn));
}

async function judge(
  options: JudgeOptions,
  rendered: RenderedAttempt,
  signal: AbortSignal,
  inTurn: InTurn,
): Promise<Judged> {
  const { messages, templateHash } = await renderYesNo(options, rendered);
  const question = (sample: number): Question => ({ messages, prefill: JUDGEMENT_TAG, sample });
  const samples = Array.from({ length: options.samples ?? 1 }, (_, sample) => question(sample));
  const asked = await askWarm(options, samples, signal, inTurn);
  const evidence = { prompt: options.prompt, prompt_hash: templateHash, model: options.model };
  const blind = asked.some((each) => each.kind === 'answered' && each.completion.logprobs === null);
  if (!blind) return byLogprobs(asked, options, evidence);
  const more = Math.max(0, (options.samples ?? VOTES) - asked.length);
  const others = Array.from({ length: more }, (_, index) => ask(options, question(asked.length + index), signal));
  const all = [...asked, ...(await Promise.all(others))];
  const votes = byVotes(all, options, { ...evidence, ...unusedLogprobs(all) });
  return votes ?? numericGrade(options, rendered, signal);
}

/** Mean P(YES) of the answers with enough mass; unreadable ones are left out. */
function byLogprobs(asked: readonly Asked[], options: JudgeOptions, common: Judged['evidence']): Judged {
  const answers = asked.flatMap((each) => (each.kind === 'answered' ? [each.completion] : []));
  const read = answers.map((completion) => readJudgement(tokensOf(completion, prefilled(options, JUDGEMENT_TAG))));
  const seen = read.filter((each) => each.kind === 'read');
  const firm = seen.filter(({ mass }) => mass >= options.minMass);
  const counted = firm.length > 0 ? firm : seen;
  const mass = counted.length === 0 ? null : mean(counted.map((each) => each.mass));
  const evidence = { ...common, method: 'yes-no-logprobs', mass, samples: firm.length };
  if (firm.length > 0) return { kind: 'scored', score: Math.min(1, mean(firm.map(({ yes }) => yes))), evidence };
  if (seen.length > 0) {
    return abstained('low-mass', `YES and NO together have less than ${options.minMass} of the probability`, evidence);
  }
  return unanswered(asked, read, evidence);
}

/** The most informative reason: an unreadable answer, then no answer at all. */
function unanswered(asked: readonly Asked[], read: readonly Judgement[], evidence: Judged['evidence']): Judged {
  const answers = asked.flatMap((each) => (each.kind === 'answered' ? [each.completion.text] : []));
  for (const [index, each] of read.entries()) {
    if (each.kind !== 'unreadable') continue;
    const said = JSON.stringify(answers[index]?.slice(0, 120));
    return abstained('unreadable-answer', `${each.detail}; it answered ${said}`, evidence);
  }
  const failed = asked.find((each) => each.kind === 'failed');
  return abstained(failed?.reason ?? 'unreadable-answer', failed?.detail ?? 'no sample was asked for', evidence);
}

/** Null when no answer states a verdict. */
function byVotes(asked: readonly Asked[], options: JudgeOptions, common: Judged['evidence']): Judged | null {
  const stated = asked.flatMap((each) => {
    if (each.kind === 'failed') return [];
    const text = `${prefilled(options, JUDGEMENT_TAG) ?? ''}${each.completion.text}`;
    return statedJudgement(text) ?? [];
  });
  if (stated.length === 0) return null;
  const yes = stated.filter((word) => word === 'YES').length;
  const { mean: score, low, high } = betaOfVotes(yes, stated.length);
  const evidence = { ...common, method: 'yes-no-votes', votes: stated.length, yes, low, high };
  return { kind: 'scored', score, evidence };
}

export interface BetaVotes {
  /** Posterior mean, (yes + 1) / (votes + 2). */
  readonly mean: number;
  /** Central 95 % of the posterior. */
  readonly low: number;
  readonly high: number;
}

/**
 * P(YES) from sampled votes under a uniform prior: Beta(yes + 1, no + 1). Its distribution function at x, for integer
 * parameters, is the probability of at least yes + 1 heads in votes + 1 tosses of a coin with P = x.
 * @param votes at least 1, `yes` of them for YES
 */
export function betaOfVotes(yes: number, votes: number): BetaVotes {
  const quantile = (p: number): number => {
    let [low, high] = [0, 1];
    for (let round = 0; round < 60; round += 1) {
      const middle = (low + high) / 2;
      if (atLeast(yes + 1, votes + 1, middle) < p) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  };
  return { mean: (yes + 1) / (votes + 2), low: quantile(0.025), high: quantile(0.975) };
}

/** P(X >= k) of X ~ Binomial(n, x), n small. */
function atLeast(k: number, n: number, x: number): number {
  let sum = 0;
  let choose = 1;
  for (let i = 0; i <= n; i += 1) {
    if (i >= k) sum += choose * x ** i * (1 - x) ** (n - i);
    choose = (choose * (n - i)) / (i + 1);
  }
  return sum;
}

const PROGRESS = 'verifier/progress';

/** P(YES), 0..1, that a running trajectory may succeed; null when the judge cannot be read. */
export type JudgeProgress = (
  issue: string,
  steps: readonly TrajectoryStep[],
  signal: AbortSignal,
) => Promise<number | null>;

/**
 * For stopping hopeless rollouts early; one that cannot be judged continues. One stated NO is too little to stop at, so a server
 * that gives no log-probabilities is not asked again. It throws only errors that end the run.
 */
export function createProgressJudge(options: JudgeOptions): JudgeProgress {
  let isBlind = false;
  return async (issue, steps, signal) => {
    if (isBlind) return null;
    const rendered = await fitAttempt({ issue, steps, patch: '' }, options.tokenizer, options.promptTokens);
    if (rendered === null) return null;
    const { messages } = await options.prompts.render(PROGRESS, { ...rendered });
    const asked = await ask({ ...options, think: false }, { messages, prefill: JUDGEMENT_TAG, sample: 0 }, signal);
    if (asked.kind === 'failed') return null;
    const { logprobs, text } = asked.completion;
    isBlind ||= logprobs === null && text !== '';
    const judgement = readJudgement(tokensOf(asked.completion, options.prefill ? JUDGEMENT_TAG : null));
    return judgement.kind === 'read' && judgement.mass >= options.minMass ? judgement.yes : null;
  };
}
