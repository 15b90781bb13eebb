const THOUGHT_END = '</think>';
const THOUGHT_START = '<think>';
/** Only spaces, however the tokenizer writes them. */
const BLANK = /^[\s\u2581\u0120\u010A]*$/;

/**
 * Where the verdict stands among generated tokens: the token after the last `tag` that follows the last
 * `</think>`, however tag and verdict are split. A verdict inside an unfinished thought is a draft and does not count.
 * @returns the token's index, and what of it still belongs to the tag; null when there is none
 */
export function verdictPosition(tokens: readonly string[], tag: string): { index: number; before: string } | null {
  const text = tokens.join('');
  const thought = text.lastIndexOf(THOUGHT_END);
  if (text.lastIndexOf(THOUGHT_START) > thought) return null;
  const at = text.lastIndexOf(tag);
  if (at < Math.max(0, thought)) return null;
  return tokenAfter(tokens, at + tag.length);
}

function tokenAfter(tokens: readonly string[], at: number): { index: number; before: string } | null {
  let start = 0;
  for (const [index, token] of tokens.entries()) {
    const end = start + token.length;
    const cut = Math.max(0, at - start);
    if (end > at && !BLANK.test(token.slice(cut))) return { index, before: token.slice(0, cut) };
    start = end;
  }
  return null;
}
