import { EXECUTION_FREE, type Measure } from '../../src/core/run/verdict.js';
import type { HeadRoute, LlmClient, Tokenizer } from '../../src/ports/llm-client.js';
import type { PromptLibrary } from '../../src/ports/prompt-library.js';
import type { Tracer } from '../../src/ports/telemetry.js';
import type { ReadSources } from '../source/read-sources.js';

/** Optional sections of a question, in addition to issue, record and patch. */
export const SECTIONS = ['source', 'tests', 'flags'] as const;
export type Section = (typeof SECTIONS)[number];

/** The YES/NO prompt: bestk's own, or the layout that a verifier was trained on, which has no room for sections. */
export const YES_NO_PROMPTS = ['verifier/yes-no', 'verifier/deepswe', 'verifier/r2e'] as const;
export type YesNoPrompt = (typeof YES_NO_PROMPTS)[number];

/** The layout of verifiers recognised by model name. */
export function promptOfModel(model: string): YesNoPrompt {
  if (/deepswe-?verifier/i.test(model)) return 'verifier/deepswe';
  return /r2e.*verifier/i.test(model) ? 'verifier/r2e' : 'verifier/yes-no';
}

/** Options of every execution-free verifier. */
export interface JudgeOptions {
  readonly llm: LlmClient;
  readonly prompts: PromptLibrary;
  readonly tokenizer: Tokenizer;
  readonly model: string;
  /** The measure that the verdicts belong to. */
  readonly measure: Measure;
  readonly prompt: YesNoPrompt;
  readonly show: readonly Section[];
  /** Reads the repository at base; absent = no source is shown. */
  readonly sources?: ReadSources | undefined;
  /** Independent answers per question, averaged. Undefined = 1, or 8 votes if the server gives no log-probabilities. */
  readonly samples?: number | undefined;
  /**
   * Minimum total probability, 0..1, of the allowed answers. Below one half the model was about to write something else, and
   * the split of the rest means little.
   */
  readonly minMass: number;
  /** Tokens of one answer; a model that thinks first gets more if it needs them. */
  readonly answerTokens: number;
  /** Tokens of one prompt. */
  readonly promptTokens: number;
  /** The API route for the head of a critic. */
  readonly head: HeadRoute;
  /** Ask for the reasons before the verdict. */
  readonly think: boolean;
  /** The server can continue a turn that bestk begins (vLLM, SGLang), so that the verdict is its first token. */
  readonly prefill: boolean;
  /** In comparisons, show a summary of each attempt instead of its record. */
  readonly summaries: boolean;
  /**
   * Hide the record of the agent's work and everything derived from it: equal patches are then one question. A layout trained
   * with records keeps them.
   */
  readonly patchAlone: boolean;
  /** Ask again without the agent's thoughts, and report when that changes the score. */
  readonly secondOpinion: boolean;
  /** Traces each verdict; absent = no tracing. */
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

/** Maximum of OpenAI-style servers. */
export const TOP_LOGPROBS = 20;
