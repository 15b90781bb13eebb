import { contentKey } from '../../../src/core/fingerprint.js';
import type { Candidate } from '../../../src/core/run/candidate.js';
import type { Message } from '../../../src/ports/llm-client.js';
import type { RenderedPrompt } from '../../../src/ports/prompt-library.js';
import type { JudgeOptions } from '../judge-options.js';
import { fitAttempt, type RenderedAttempt } from './render-attempt.js';
import { flagsSection } from './sections.js';

/** What every question about one attempt shows before it asks. */
export const ATTEMPT = 'verifier/attempt';
/** What R2E-Gym's agents were told; its verifier was trained on their whole conversation. */
const R2E_AGENT = { workdir: '/testbed', max_steps: 40, action_s: 90 } as const;

/**
 * A question about an attempt: what is shown comes first and is the same for all questions, what is asked comes last.
 * @param more variables of this question alone
 */
export async function renderQuestion(
  { prompts, think }: Pick<JudgeOptions, 'prompts' | 'think'>,
  name: string,
  rendered: RenderedAttempt,
  more: Readonly<Record<string, unknown>> = {},
): Promise<RenderedPrompt> {
  const shown = await prompts.render(ATTEMPT, { ...rendered });
  const attempt = shown.messages[0]?.content ?? '';
  const { messages, templateHash } = await prompts.render(name, { ...rendered, ...more, attempt, think });
  return { messages, templateHash: contentKey([shown.templateHash, templateHash]) };
}

/** What YES or NO is asked with: the layout that the model was trained on where it was trained on one. */
export async function renderYesNo(
  options: Pick<JudgeOptions, 'prompts' | 'prompt' | 'think'>,
  rendered: RenderedAttempt,
): Promise<RenderedPrompt> {
  const { prompts, prompt } = options;
  if (prompt === 'verifier/yes-no') return renderQuestion(options, prompt, rendered);
  const { issue, steps, patch } = rendered;
  if (prompt === 'verifier/deepswe') return prompts.render(prompt, { issue, steps, patch });
  const told = await prompts.render('agent/r2e', { issue, ...R2E_AGENT });
  const of = (wanted: Message['role']): string => told.messages.find(({ role }) => role === wanted)?.content ?? '';
  const conversation = { agent_system: of('system'), agent_instance: of('user') };
  const { messages, templateHash } = await prompts.render(prompt, { issue, steps, patch, ...conversation });
  return { messages, templateHash: contentKey([told.templateHash, templateHash]) };
}

/** Hash of everything of several prompts that is not data. */
export function promptHash(prompts: readonly RenderedPrompt[], criteria: readonly string[]): string {
  return contentKey([[...new Set(prompts.map(({ templateHash }) => templateHash))], criteria]);
}

type PromptOptions = Pick<JudgeOptions, 'prompts' | 'prompt' | 'think' | 'tokenizer' | 'promptTokens' | 'patchAlone'>;

/** What the YES/NO verifier is asked of a candidate, with the answer it should give: a conversation to train one on. */
export async function trainingConversation(
  options: PromptOptions,
  issue: string,
  { patch, trajectory }: Candidate,
  right: boolean,
): Promise<readonly Message[] | null> {
  if (patch.trim() === '') return null;
  const isAlone = options.patchAlone && options.prompt === 'verifier/yes-no';
  const steps = isAlone ? [] : (trajectory?.steps ?? []);
  const attempt = { issue, steps, patch, flags: flagsSection(steps, false) };
  const rendered = await fitAttempt(attempt, options.tokenizer, options.promptTokens);
  if (rendered === null) return null;
  const { messages } = await renderYesNo(options, rendered);
  return [...messages, { role: 'assistant', content: `<judgement>${right ? 'YES' : 'NO'}</judgement>` }];
}
