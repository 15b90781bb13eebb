import { z } from 'zod';
import type { CompletionRequest } from '../../ports/llm-client.js';

/** How servers say that a prompt, or prompt and answer, exceed the context; there is no common code. */
const WORDINGS: readonly (readonly [source: string, words: string])[] = [
  ['the code of OpenAI, Azure, DeepSeek, OpenRouter and Ollama', 'context[_ ]length[_ ]exceeded'],
  ['the code of Z.ai; the class of LiteLLM, which comes with any other', 'context_?window_?exceeded'],
  ['OpenAI, Azure, vLLM, SGLang, LMDeploy, Mistral, Fireworks, xAI', '(maximum|max) (context|model|prompt) length'],
  ['OpenAI, for its newer models', 'input tokens exceed|exceeds? the context window'],
  ['vLLM, of an answer that has no room left', 'max_tokens must be at least 1, got -'],
  ['SGLang, Together, LM Studio', "(longer|greater) than the (model'?s )?context"],
  ['llama.cpp, GPT-compatible services', "exceeds? the (available|maximum|model'?s) (allowed |context )"],
  ['TGI, Together, SageMaker', 'must (be <=|have less than) .{0,40}(tokens|max_)'],
  ['TensorRT-LLM (llmapi/llm.py)', 'sum of prompt length .{0,120}should not exceed'],
  ['TensorRT-LLM (executor/base_worker.py)', 'default_max_tokens.{0,20} must be greater than 0'],
  ['Triton and the TensorRT-LLM executor; DeepInfra', '(prompt|input) length .{0,20}exceeds (the )?max'],
  ['Ollama (server/routes.go), LM Studio', 'exceed(s|ed) (the |max(imum)? )?context length'],
  ['Cohere, TOO_MANY_TOKENS; another error of that name is about max_tokens', 'too many tokens: (size limit|total)'],
  ['Bedrock', 'input is too long|too many input tokens|number of input tokens exceeds'],
  ['Anthropic', 'prompt is too long|exceeds? context limit|request_too_large'],
  ['Gemini and Vertex AI', 'token count .{0,30}exceeds the (maximum|limit)'],
  ['Groq', 'reduce the length of the (messages|prompt|input)'],
  ['Kimi', 'exceeded model token limit'],
  ['MiniMax', 'context window exceeds'],
  ['Z.ai', 'prompt exceeds max length'],
  ['DashScope', 'range of input length'],
  ['watsonx.ai', 'cannot exceed the total tokens limit'],
  ['DS4', 'the configured context size is'],
];
const OVERFLOW = new RegExp(WORDINGS.map(([, words]) => words).join('|'), 'i');
/** Errors repeat requests of any length. */
const MOST_READ = 20_000;
/** Where pydantic begins to repeat what it refused, which may itself speak of overflows. */
const REPETITION = /['"]input['"]: ?/;

/** Whether an error message is a known wording of an overflow. */
export function saysOverflow(message: string): boolean {
  const [said = ''] = message.slice(0, MOST_READ).split(REPETITION, 1);
  return OVERFLOW.test(said);
}

/** Unknown words may be about the length of something. */
const SUBJECT = /token|context|prompt|input|request|sequence|message|payload|entity/i;
const EXCESS = /exceed|too (long|large|big|many)|(longer|larger|greater|more|bigger) than|over the|limit|maximum/i;

/** Refusals that no shorter prompt avoids: of money, as LiteLLM, OpenAI and Anthropic say it; of a call's id; of a long answer. */
const OTHER_LIMIT = /budget|billing|quota|credit balance|usage limits|\btool_calls?\b|\bat most \d+ completion tokens/i;

function mayMeanLength(status: number, message: string): boolean {
  return status === 413 || (SUBJECT.test(message) && EXCESS.test(message));
}

/** A prompt at least this share of the limit, or of the longest prompt that was accepted, is near the limit. */
const NEAR = 0.9;
/** Until the server has counted a prompt. */
const CHARS_PER_TOKEN = 4;

type Sent = Pick<CompletionRequest, 'messages' | 'maxTokens'>;

/** What a server has shown of the context of one model. */
export class ContextKnowledge {
  #longestChars = 0;
  #charsPerToken = CHARS_PER_TOKEN;
  #stated: number | undefined;

  /** @param tokens of the prompt by the server's count; undefined if it gives none */
  accept(request: Sent, tokens: number | undefined): void {
    const chars = charsOf(request);
    if (chars <= this.#longestChars) return;
    this.#longestChars = chars;
    if (tokens !== undefined && tokens > 0) this.#charsPerToken = chars / tokens;
  }

  /**
   * Whether a rejection in unknown words is an overflow: it names no other limit, and the request nearly fills the context that
   * the server states, or the words may mean a length and no much longer prompt has been accepted.
   * @param stated asks the server for its limit in tokens
   */
  async isOverflow(
    request: Sent,
    { status, detail }: { readonly status: number; readonly detail: string },
    stated: () => Promise<number | null>,
  ): Promise<boolean> {
    if (OTHER_LIMIT.test(detail)) return false;
    const limit = (this.#stated ??= (await stated()) ?? undefined);
    const chars = charsOf(request);
    if (limit !== undefined && chars / this.#charsPerToken + request.maxTokens >= NEAR * limit) return true;
    return this.#longestChars > 0 && chars >= NEAR * this.#longestChars && mayMeanLength(status, detail);
  }
}

function charsOf({ messages }: Sent): number {
  const texts = messages.flatMap(({ content, reasoning = '', tool_calls: calls = [] }) => [
    content,
    reasoning,
    ...calls.map((call) => call.name + call.arguments),
  ]);
  return texts.reduce((sum, text) => sum + text.length, 0);
}

const Limit = z.int().positive().optional().catch(undefined);
/** One model of a list: vLLM and SGLang; OpenRouter and Together; Mistral; Groq; llama.cpp. */
const ListedModel = z.object({
  id: z.string(),
  max_model_len: Limit,
  context_length: Limit,
  max_context_length: Limit,
  context_window: Limit,
  meta: z.object({ n_ctx: Limit }).optional().catch(undefined),
});

/** The tokens of a model's context by the server's list of models; null if it does not tell. */
export function statedContext(list: unknown, model: string): number | null {
  const data = z.object({ data: z.array(z.unknown()) }).safeParse(list).data?.data ?? [];
  const listed = data.map((entry) => ListedModel.safeParse(entry).data).find((entry) => entry?.id === model);
  const { max_model_len, context_length, max_context_length, context_window, meta } = listed ?? {};
  return max_model_len ?? context_length ?? max_context_length ?? context_window ?? meta?.n_ctx ?? null;
}
