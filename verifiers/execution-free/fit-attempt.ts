import type { Tokenizer } from '../../src/ports/tokenizer.js';
import { renderAttempt, type Attempt, type RenderedAttempt } from './render-trajectory.js';

/** Characters a token has in agents' trajectories, about; where the search for the right length starts. */
const CHARS_PER_TOKEN = 3.5;
/** Our own words around the data, and what a chat template adds. */
const OVERHEAD_TOKENS = 1_000;
const ROUNDS = 6;

/**
 * The attempt as a judge reads it, in at most `maxTokens` tokens together with our own words. Deterministic. Short
 * attempts are not counted: a text has no more tokens than bytes.
 * @returns null when the patch alone leaves no room
 */
export async function fitAttempt(
  attempt: Attempt,
  tokenizer: Tokenizer,
  maxTokens: number,
): Promise<RenderedAttempt | null> {
  const room = maxTokens - OVERHEAD_TOKENS;
  let budget = Math.floor(room * CHARS_PER_TOKEN);
  for (let round = 0; round < ROUNDS; round += 1) {
    const rendered = renderAttempt(attempt, budget);
    if (rendered === null) return null;
    const text = `${rendered.issue}\n${rendered.steps}\n${rendered.patch}`;
    if (text.length * 3 <= room) return rendered;
    const tokens = await tokenizer.count(text);
    if (tokens <= room) return rendered;
    // A little less than in proportion, so that it ends soon.
    budget = Math.floor(Math.min(budget, text.length) * (room / tokens) * 0.97);
  }
  return null;
}
