import type { LlmClient } from '../../../src/ports/llm-client.js';
import type { PromptLibrary } from '../../../src/ports/prompt-library.js';
import type { Tracer } from '../../../src/ports/tracer.js';
import type { Tokenizer } from '../../../src/ports/llm-client.js';

/** What every execution-free verifier works with. */
export interface JudgeOptions {
  readonly llm: LlmClient;
  readonly prompts: PromptLibrary;
  readonly tokenizer: Tokenizer;
  readonly model: string;
  /** Independent answers to each question; their mean counts. */
  readonly samples: number;
  /**
   * Least probability, 0..1, of the answers that were asked for. Below one half the model was about to say something
   * else, and how it would have shared out the rest says little.
   */
  readonly minMass: number;
  /** Tokens of one answer; a reasoning model needs room to think. */
  readonly answerTokens: number;
  /** Tokens of one prompt. */
  readonly promptTokens: number;
  /** The server goes on with a turn that we begin (vLLM, SGLang), so that the verdict is its first token. */
  readonly prefill: boolean;
  /** Answers to sample where the server gives no log-probabilities. */
  readonly votes: number;
  /** Ask again without the agent's thoughts, and say when that changes the score. */
  readonly secondOpinion: boolean;
  /** Told of each verdict while it is made; absent = nobody is. */
  readonly tracer?: Tracer;
}

export const JUDGE_DEFAULTS = {
  samples: 1,
  minMass: 0.5,
  answerTokens: 16,
  promptTokens: 65_536,
  prefill: false,
  votes: 8,
  secondOpinion: false,
} as const;

/** What OpenAI-style servers allow at most. */
export const TOP_LOGPROBS = 20;
