import type { Verifier } from '../../../src/core/run/verifier.js';
import type { TokenLogprob } from '../../../src/ports/llm-client.js';
import type { Criterion } from '../../../src/ports/prompt-library.js';
import {
  type Asked,
  askWarm,
  type Failed,
  failedIn,
  prefilled,
  tokensOf,
  readTaggedToken,
  unusedLogprobs,
} from '../ask.js';
import type { JudgeOptions } from '../judge-options.js';
import { promptHash, renderQuestion } from '../render/question.js';
import type { RenderedAttempt } from '../render/render-attempt.js';
import { numericGrade, abstained, type InTurn, type Judged, mean, pointwiseVerifier } from './pointwise.js';

const PROMPT = 'verifier/rubric';

/**
 * Mean over C criteria and R repeats of the expected score letter A..T, 0..1 (LLM-as-a-Verifier, arXiv 2607.05391): score = (1
 * / CR) Σ_c Σ_r Σ_letter p(letter) φ(letter). Without log-probabilities the stated letters count; without any letter, a numeric
 * grade. The criterion comes at the end of the prompt, after the prefix common to all questions.
 */
export function createRubricVerifier(options: JudgeOptions): Verifier {
  return pointwiseVerifier(options, (rendered, signal, inTurn) => judge(options, rendered, signal, inTurn));
}

async function judge(
  options: JudgeOptions,
  rendered: RenderedAttempt,
  signal: AbortSignal,
  inTurn: InTurn,
): Promise<Judged> {
  const samples = options.samples ?? 1;
  const all = await options.prompts.criteria();
  const criteria = all.filter(({ needsSteps }) => !needsSteps || rendered.steps !== '');
  if (criteria.length === 0) return numericGrade(options, rendered, signal);
  const prompts = await Promise.all(
    criteria.map(({ title, text }) => renderQuestion(options, PROMPT, rendered, { title, criterion: text })),
  );
  const questions = prompts.flatMap(({ messages }) =>
    Array.from({ length: samples }, (_, sample) => ({ messages, prefill: SCORE_TAG, sample })),
  );
  const asked = await askWarm(options, questions, signal, inTurn);
  const scores = criteria.map((criterion, index) => {
    const from = index * samples;
    return scoreOf(criterion, asked.slice(from, from + samples), options);
  });
  const evidence = {
    prompt_hash: promptHash(
      prompts,
      criteria.map(({ hash }) => hash),
    ),
    model: options.model,
    criteria: Object.fromEntries(scores.map(({ id, score }) => [id, score])),
    ...unusedLogprobs(asked),
  };
  return verdict(scores, asked, evidence) ?? numericGrade(options, rendered, signal);
}

interface CriterionScore {
  readonly id: string;
  /** Null when no answer could be read. */
  readonly score: number | null;
  readonly byLogprobs: boolean;
  /** The call that failed, if there is no score. */
  readonly failed?: Failed | undefined;
}

function scoreOf({ id }: Criterion, asked: readonly Asked[], options: JudgeOptions): CriterionScore {
  const answers = asked.flatMap((each) => (each.kind === 'answered' ? [each.completion] : []));
  const prefill = prefilled(options, SCORE_TAG);
  const letters = answers.map((completion) => readLetterScore(tokensOf(completion, prefill)));
  const firm = letters.flatMap((each) => (each.kind === 'read' && each.mass >= options.minMass ? [each.score] : []));
  if (firm.length > 0) return { id, score: mean(firm), byLogprobs: true };
  const blind = answers.filter(({ logprobs }) => logprobs === null);
  const stated = blind.flatMap(({ text }) => statedLetterScore(`${prefill ?? ''}${text}`) ?? []);
  if (stated.length > 0) return { id, score: mean(stated), byLogprobs: false };
  return { id, score: null, byLogprobs: false, failed: failedIn(asked) };
}

/**
 * An unreadable criterion is left out of the mean and reported as null. One whose calls failed is not: an outage would change
 * the score. Null when the server gave nothing to read.
 */
function verdict(
  scores: readonly CriterionScore[],
  asked: readonly Asked[],
  common: Judged['evidence'],
): Judged | null {
  const read = scores.filter((each): each is CriterionScore & { score: number } => each.score !== null);
  const method = read.some(({ byLogprobs }) => byLogprobs) ? 'rubric-logprobs' : 'rubric-letters';
  const evidence = { ...common, method };
  const failed = scores.find((each) => each.failed !== undefined)?.failed;
  if (failed !== undefined) return abstained(failed.reason, failed.detail, evidence);
  if (read.length > 0) return { kind: 'scored', score: Math.min(1, mean(read.map(({ score }) => score))), evidence };
  const blind = asked.some((each) => each.kind === 'answered' && each.completion.logprobs === null);
  if (blind) return null;
  return abstained('unreadable-answer', 'no answer holds a score letter where one was asked for', evidence);
}

export const SCORE_TAG = '<score>';
/** A is the best of twenty. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRST';

/** One answer to one criterion, 0..1. */
export type LetterScore =
  | { readonly kind: 'read'; readonly score: number; readonly mass: number }
  | { readonly kind: 'unreadable'; readonly detail: string };

/**
 * Expected value of the score letter at the token after `<score>`: sum over the letters of p(letter) × φ(letter), φ(A) = 1
 * down to φ(T) = 0 in equal steps, p normalised over the letters (LLM-as-a-Verifier, arXiv 2607.05391).
 */
export function readLetterScore(logprobs: readonly TokenLogprob[] | null): LetterScore {
  const read = readTaggedToken(logprobs, SCORE_TAG, readLetter);
  if (read.kind === 'unreadable') return read;
  const score = [...read.share].reduce((sum, [letter, p]) => sum + p * valueOf(letter), 0);
  return { kind: 'read', score: Math.min(1, score), mass: read.mass };
}

/** The score stated in the text of an answer, 0..1, or null. */
export function statedLetterScore(text: string): number | null {
  const answer = text.slice(text.lastIndexOf('</think>') + 1);
  if (answer.includes('<think>')) return null;
  const [, ...said] = answer.split(SCORE_TAG);
  const letter = /^\s*([A-T])(?![\p{L}\p{N}_])/u.exec(said.at(-1) ?? '')?.[1];
  return letter === undefined ? null : valueOf(letter);
}

/** One capital letter of the scale, optionally followed by the closing tag. */
function readLetter(text: string): string | null {
  return /^([A-T])(?![\p{L}\p{N}_])/u.exec(text)?.[1] ?? null;
}

function valueOf(letter: string): number {
  return 1 - LETTERS.indexOf(letter) / (LETTERS.length - 1);
}
