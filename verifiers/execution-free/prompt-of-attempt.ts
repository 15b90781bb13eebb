import { contentKey } from '../../src/core/fingerprint.js';
import type { RenderedPrompt } from '../../src/ports/prompt-library.js';
import { abstained, type Judged } from './judged.js';
import { fitAttempt } from './fit-attempt.js';
import type { JudgeOptions } from './judge-options.js';
import type { Attempt, RenderedAttempt } from './render-trajectory.js';

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
