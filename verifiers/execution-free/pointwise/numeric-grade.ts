import { z } from 'zod';
import { ask } from '../ask.js';
import type { JudgeOptions } from '../judge-options.js';
import { jsonOf } from '../read-answer.js';
import { renderQuestion } from '../render/question.js';
import type { RenderedAttempt } from '../render/render-attempt.js';
import { abstained, type Judged } from './pointwise.js';

const PROMPT = 'verifier/grade';
const Grade = z.strictObject({ grade: z.int().min(0).max(100) });
const SCHEMA = {
  name: 'grade',
  schema: {
    type: 'object',
    properties: { grade: { type: 'integer', minimum: 0, maximum: 100 } },
    required: ['grade'],
    additionalProperties: false,
  },
};

/** The last resort: a whole number from 0 to 100 by a strict schema. Anything else is no grade. */
export async function numericGrade(
  options: JudgeOptions,
  rendered: RenderedAttempt,
  signal: AbortSignal,
): Promise<Judged> {
  const { messages, templateHash } = await renderQuestion(options, PROMPT, rendered);
  const asked = await ask(options, { messages, responseSchema: SCHEMA, sample: 0 }, signal);
  const evidence = { method: 'numeric-grade', prompt_hash: templateHash, model: options.model };
  if (asked.kind === 'failed') return abstained(asked.reason, asked.detail, evidence);
  const grade = Grade.safeParse(jsonOf(asked.completion.text));
  if (grade.success) return { kind: 'scored', score: grade.data.grade / 100, evidence };
  const said = JSON.stringify(asked.completion.text.slice(0, 120));
  return abstained('unreadable-answer', `neither a verdict nor a grade could be read; it answered ${said}`, evidence);
}
