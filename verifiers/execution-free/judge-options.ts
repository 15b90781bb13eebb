import { EXECUTION_FREE, type Measure } from '../../src/core/run/verdict.js';
import type { HeadRoute, LlmClient, Tokenizer } from '../../src/ports/llm-client.js';
import type { PromptLibrary } from '../../src/ports/prompt-library.js';
import type { Tracer } from '../../src/ports/telemetry.js';
import type { ReadSources } from '../source/read-sources.js';

/** What stands beside issue, record and patch where there is any of it. */
export const SECTIONS = ['source', 'tests', 'flags'] as const;
export type Section = (typeof SECTIONS)[number];

/** What YES or NO is asked with: our words, or the layout that a verifier was trained on, which has no room for sections. */
export const YES_NO_PROMPTS = ['verifier/yes-no', 'verifier/deepswe', 'verifier/r2e'] as const;
export type YesNoPrompt = (typeof YES_NO_PROMPTS)[number];

/** The layout of the verifiers that are known by their names. */
export function promptOfModel(model: string): YesNoPrompt {
  if (/deepswe-?verifier/i.test(model)) return 'verifier/deepswe';
  return /r2e.*verifier/i.test(model) ? 'verifier/r2e' : 'verifier/yes-no';
}

/** What every execution-free verifier works with. */
export interface JudgeOptions {
  readonly llm: LlmClient;
  readonly prompts: PromptLibrary;
  readonly tokenizer: Tokenizer;
  readonly model: string;
  /** What the verdicts are counted as. */
  readonly measure: Measure;
  readonly prompt: YesNoPrompt;
  readonly show: readonly Section[];
  /** Reads the repository at base; absent = no source is shown. */
  readonly sources?: ReadSources | undefined;
  /** Independent answers to each question; their mean counts. Undefined = 1, and 8 votes where the server gives no log-probabilities. */
  readonly samples?: number | undefined;
  /**
   * Least probability, 0..1, of the answers that were asked for. Below one half the model was about to say something
   * else, and how it would have shared out the rest says little.
   */
  readonly minMass: number;
  /** Tokens of one answer; a model that thinks first gets more when it turns out to need them. */
  readonly answerTokens: number;
  /** Tokens of one prompt. */
  readonly promptTokens: number;
  /** How the head of a critic is asked. */
  readonly head: HeadRoute;
  /** Ask for the reasons before the verdict. */
  readonly think: boolean;
  /** The server goes on with a turn that we begin (vLLM, SGLang), so that the verdict is its first token. */
  readonly prefill: boolean;
  /** Show those who compare a summary of each attempt in place of its record. */
  readonly summaries: boolean;
  /**
   * Show no record of the agent's work, nor what follows from one: equal patches are then one question. A layout that was
   * trained with records keeps them.
   */
  readonly patchAlone: boolean;
  /** Ask again without the agent's thoughts, and say when that changes the score. */
  readonly secondOpinion: boolean;
  /** Told of each verdict while it is made; absent = nobody is. */
  readonly tracer?: Tracer;
}

export const JUDGE_DEFAULTS = {
  measure: EXECUTION_FREE,
  prompt: 'verifier/yes-no',
  show: ['source', 'flags'],
  minMass: 0.5,
  answerTokens: 16,
  promptTokens: 65_536,
  head: 'classify',
  think: false,
  prefill: false,
  summaries: false,
  patchAlone: false,
  secondOpinion: false,
} as const;

/** What OpenAI-style servers allow at most. */
export const TOP_LOGPROBS = 20;
