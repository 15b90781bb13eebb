import type { TokenLogprob } from '../../../src/ports/llm-client.js';
import { readTaggedToken } from './tagged-token.js';

export const JUDGEMENT_TAG = '<judgement>';
const VERDICTS = ['YES', 'NO'] as const;
type Word = (typeof VERDICTS)[number];

/** What one answer says: P(YES) given that it is YES or NO, and how probable it was to be either. */
export type Judgement =
  | { readonly kind: 'read'; readonly yes: number; readonly mass: number }
  | { readonly kind: 'unreadable'; readonly detail: string };

/**
 * P(YES) / (P(YES) + P(NO)) at the token after `<judgement>`, each summed over its spellings (R2E-Gym, arXiv
 * 2504.07164, C.2, which looks up one spelling at a fixed position).
 */
export function readJudgement(logprobs: readonly TokenLogprob[] | null): Judgement {
  const read = readTaggedToken(logprobs, JUDGEMENT_TAG, readWord);
  return read.kind === 'read' ? { kind: 'read', yes: read.share.get('YES') ?? 0, mass: read.mass } : read;
}

/** The verdict that the text of an answer states, or null. Its last one counts; a draft in an unfinished thought does not. */
export function statedJudgement(text: string): Word | null {
  const answer = text.slice(text.lastIndexOf('</think>') + 1);
  if (answer.includes('<think>')) return null;
  const stated = /<judgement>\s*(YES|NO)\b(?![^]*<judgement>)/i.exec(answer)?.[1]?.toUpperCase();
  return VERDICTS.find((word) => word === stated) ?? null;
}

/** The verdict a token begins: `YES`, `Yes`, `no`, `YES</`, or its first letters when the tokenizer splits it. */
function readWord(text: string): Word | null {
  const match = /^([A-Za-z]+)(?![\p{L}\p{N}_])(.*)$/su.exec(text);
  if (match === null) return null;
  const [, letters = '', rest] = match;
  const word = letters.toUpperCase();
  return VERDICTS.find((verdict) => word === verdict || (rest === '' && verdict.startsWith(word))) ?? null;
}
