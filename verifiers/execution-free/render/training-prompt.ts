import type { Candidate } from '../../../src/core/run/candidate.js';
import type { Message } from '../../../src/ports/llm-client.js';
import type { RenderedPrompt } from '../../../src/ports/prompt-library.js';
import { fitAttempt } from './prompt-of-attempt.js';
import type { JudgeOptions } from '../pointwise/judge-options.js';

type PromptOptions = Pick<JudgeOptions, 'prompts' | 'tokenizer' | 'promptTokens'>;

/**
 * What the YES/NO verifier is shown of a candidate.
 * @returns null when the candidate has no patch, or one that leaves no room
 */
export async function judgePrompt(
  { prompts, tokenizer, promptTokens }: PromptOptions,
  issue: string,
  { patch, trajectory }: Candidate,
): Promise<RenderedPrompt | null> {
  if (patch.trim() === '') return null;
  const rendered = await fitAttempt({ issue, steps: trajectory?.steps ?? [], patch }, tokenizer, promptTokens);
  if (rendered === null) return null;
  const { issue: text, steps, patch: diff, fence } = rendered;
  return prompts.render('verifier/yes-no', { issue: text, steps, patch: diff, fence });
}

/** The same with the answer it should give: a conversation to train one on. */
export async function trainingConversation(
  options: PromptOptions,
  issue: string,
  candidate: Candidate,
  right: boolean,
): Promise<readonly Message[] | null> {
  const prompt = await judgePrompt(options, issue, candidate);
  if (prompt === null) return null;
  return [...prompt.messages, { role: 'assistant', content: `<judgement>${right ? 'YES' : 'NO'}</judgement>` }];
}
