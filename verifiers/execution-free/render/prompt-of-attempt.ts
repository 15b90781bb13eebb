import { contentKey } from '../../../src/core/fingerprint.js';
import type { Tokenizer } from '../../../src/ports/llm-client.js';
import type { RenderedPrompt } from '../../../src/ports/prompt-library.js';
import type { JudgeOptions } from '../pointwise/judge-options.js';
import { abstained, type Judged } from '../pointwise/judged.js';
import { type Attempt, renderAttempt, type RenderedAttempt } from './render-trajectory.js';

/** How much shorter an attempt is made when the server's context turns out to be shorter than was thought. */
const SHORTER = 0.6;

/**
 * Judges an attempt at its full length and, when the server says that the prompt is too long, once more at a shorter one.
 * @param judge gives null for "too long"
 */
export async function judgeFitting(
  options: JudgeOptions,
  attempt: Attempt,
  judge: (rendered: RenderedAttempt) => Promise<Judged>,
): Promise<Judged> {
  let judged: Judged | null = null;
  for (const tokens of [options.promptTokens, Math.floor(options.promptTokens * SHORTER)]) {
    const rendered = await fitAttempt(attempt, options.tokenizer, tokens);
    if (rendered === null) {
      return (
        judged ??
        abstained('refused-patch', `a patch of ${attempt.patch.length} characters does not fit into the prompt`)
      );
    }
    judged = await judge(rendered);
    if (judged.kind !== 'abstained' || judged.reason !== 'prompt-too-long') return judged;
  }
  return judged ?? abstained('prompt-too-long', 'the prompt does not fit');
}

/** Hash of everything of a prompt that is not data. */
export function promptHash(prompts: readonly RenderedPrompt[], criteria: readonly string[] = []): string {
  const hashes = [...new Set(prompts.map(({ templateHash }) => templateHash))];
  return criteria.length === 0 && hashes[0] !== undefined && hashes.length === 1
    ? hashes[0]
    : contentKey([hashes, criteria]);
}

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
