import { z } from 'zod';
import { contentKey } from '../../../src/core/fingerprint.js';
import { neutralise } from '../../../src/core/neutralise.js';
import type { Retell } from '../../../src/core/run/rollout.js';
import { ask } from '../ask.js';
import type { JudgeOptions } from '../judge-options.js';
import { jsonOf } from '../read-answer.js';
import { excerpt } from '../render/condense.js';
import { ATTEMPT, renderQuestion } from '../render/question.js';
import { type Attempt, fitAttempt } from '../render/render-attempt.js';

const PROMPT = 'verifier/summary';
const TOKENS = 1_024;
const LONGEST = 1_200;
const MOST_FILES = 20;

const FIELDS = ['hypotheses', 'decisions', 'progress', 'failures', 'outcome'] as const;
const Summary = z.strictObject({
  hypotheses: z.string(),
  decisions: z.string(),
  progress: z.string(),
  failures: z.string(),
  outcome: z.string(),
  files: z.array(z.string()),
});
/** What an attempt came to, in words (fields as in arXiv 2604.16529 and its implementations). */
export type Summary = z.infer<typeof Summary>;

const SCHEMA = {
  name: 'summary',
  schema: {
    type: 'object',
    properties: {
      ...Object.fromEntries(FIELDS.map((name) => [name, { type: 'string' }])),
      files: { type: 'array', items: { type: 'string' } },
    },
    required: [...FIELDS, 'files'],
    additionalProperties: false,
  },
};

/**
 * One call: the record of an attempt in short, each field cut to a length that a judge of two has room for.
 * @returns null without a record, or when none could be had: the patch then speaks alone
 */
export async function summaryOf(options: JudgeOptions, attempt: Attempt, signal: AbortSignal): Promise<Summary | null> {
  if (attempt.steps.length === 0) return null;
  // The patch stands in the comparison anyway; the source is of no use to one who retells.
  const rendered = await fitAttempt({ ...attempt, source: '', tests: '' }, options.tokenizer, options.promptTokens);
  if (rendered === null) return null;
  const { messages } = await renderQuestion(options, PROMPT, rendered);
  const question = { messages, responseSchema: SCHEMA, atLeast: TOKENS, sample: 0 };
  const asked = await ask({ ...options, think: false }, question, signal);
  if (asked.kind === 'failed') return null;
  const { data } = Summary.safeParse(jsonOf(asked.completion.text));
  if (data === undefined) return null;
  const short = Object.fromEntries(FIELDS.map((name) => [name, excerpt(data[name], LONGEST)]));
  const files = data.files.slice(0, MOST_FILES).map((file) => excerpt(file, LONGEST / MOST_FILES));
  return { ...data, ...short, files };
}

/** Characters of a patch that an agent is shown of another's. */
const PATCH_SHOWN = 6_000;

/**
 * Retells attempts for agents that try again: in words, '' when no summary could be had, and the patch, excerpted.
 * @throws the signal's reason, StoreUnavailableError
 */
export function createRetelling(options: JudgeOptions): Retell {
  return async (issue, { patch, trajectory }, signal) => {
    const summary = await summaryOf(options, { issue, steps: trajectory?.steps ?? [], patch }, signal);
    return {
      summary: summary === null ? '' : summaryText(summary),
      patch: excerpt(neutralise(patch).trimEnd(), PATCH_SHOWN),
    };
  };
}

/** Hash of what summaries are asked for with. */
export async function summaryHash({ prompts }: Pick<JudgeOptions, 'prompts'>): Promise<string> {
  const hashes = await prompts.hashes();
  return contentKey([PROMPT, ATTEMPT].map((name) => hashes[name]));
}

/** As the judge reads it; the words are a model's about data of others, and no more to be trusted than those. */
export function summaryText(summary: Summary): string {
  // Left empty, a reader cannot tell nothing from not said.
  const lines = FIELDS.map((name) => `${name}: ${summary[name].trim() === '' ? 'nothing' : summary[name]}`);
  return neutralise([...lines, `files: ${summary.files.join(', ')}`].join('\n'));
}
