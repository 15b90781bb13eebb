import type { TokenLogprob } from '../../src/ports/llm-client.js';
import { verdictPosition } from './verdict-position.js';

const VERDICTS = ['YES', 'NO'] as const;
type Verdict = (typeof VERDICTS)[number];

/** What one answer says: P(YES) given that it is YES or NO, and how probable it was to be either. */
export type Judgement =
  | { readonly kind: 'read'; readonly yes: number; readonly mass: number }
  | { readonly kind: 'unreadable'; readonly detail: string };

/**
 * P(YES) / (P(YES) + P(NO)) at the token after `<judgement>`, each summed over its spellings (R2E-Gym, arXiv
 * 2504.07164, C.2, which looks up one spelling at a fixed position). Never NaN: no mass is unreadable.
 */
export function readJudgement(logprobs: readonly TokenLogprob[] | null): Judgement {
  if (logprobs === null || logprobs.length === 0) return unreadable('the server gave no log-probabilities');
  const place = verdictPosition(logprobs.map(({ token }) => token));
  if (place === null) return unreadable('the answer has no token after <judgement>');
  const position = logprobs[place.index];
  const sums = { YES: 0, NO: 0 };
  for (const { token, logprob } of position === undefined ? [] : alternatives(position)) {
    const word = readWord(token, place.before);
    if (word !== null) sums[word] += Math.exp(Math.min(0, logprob));
  }
  const total = sums.YES + sums.NO;
  if (!(total > 0)) return unreadable('neither YES nor NO is among the alternatives of the verdict token');
  return { kind: 'read', yes: sums.YES / total, mass: Math.min(1, total) };
}

function unreadable(detail: string): Judgement {
  return { kind: 'unreadable', detail };
}

/** The sampled token counts too when it is not among the listed ones. */
function alternatives({ token, logprob, top }: TokenLogprob): readonly { token: string; logprob: number }[] {
  return top.some((alternative) => alternative.token === token) ? top : [...top, { token, logprob }];
}

/**
 * The verdict a token begins: `YES`, ` Yes`, `▁no`, `YES</`, or its first letters when the tokenizer splits it.
 * @param before what of the token belongs to the tag, e.g. `>` when tag and verdict share a token
 */
function readWord(token: string, before: string): Verdict | null {
  if (!token.startsWith(before)) return null;
  const text = token.slice(before.length).replace(/^[\s\u2581\u0120\u010A]+/, '');
  const match = /^([A-Za-z]+)(?![\p{L}\p{N}_])(.*)$/su.exec(text);
  if (match === null) return null;
  const [, letters = '', rest] = match;
  const word = letters.toUpperCase();
  return VERDICTS.find((verdict) => word === verdict || (rest === '' && verdict.startsWith(word))) ?? null;
}
