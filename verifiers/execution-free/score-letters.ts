import type { TokenLogprob } from '../../src/ports/llm-client.js';
import { readTaggedToken } from './tagged-token.js';

export const SCORE_TAG = '<score>';
/** A is the best of twenty. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRST';

/** What one answer says about one criterion, 0..1. */
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

/** The score that the text of an answer states, 0..1, or null. */
export function statedLetterScore(text: string): number | null {
  const answer = text.slice(text.lastIndexOf('</think>') + 1);
  if (answer.includes('<think>')) return null;
  const letter = /<score>\s*([A-T])(?![\p{L}\p{N}_])(?![^]*<score>)/u.exec(answer)?.[1];
  return letter === undefined ? null : valueOf(letter);
}

/** One capital letter of the scale, alone or before what closes the tag. */
function readLetter(text: string): string | null {
  return /^([A-T])(?![\p{L}\p{N}_])/u.exec(text)?.[1] ?? null;
}

function valueOf(letter: string): number {
  return 1 - LETTERS.indexOf(letter) / (LETTERS.length - 1);
}
