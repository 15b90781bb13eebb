import type { Candidate } from '../../src/core/candidate.js';
import { ModelUnavailableError } from '../../src/core/unavailable.js';
import type { Verdict } from '../../src/core/verdict.js';
import type { VerificationTask, Verifier } from '../../src/core/verifier.js';
import type { CompletionRequest, LlmClient } from '../../src/ports/llm-client.js';
import type { PromptLibrary } from '../../src/ports/prompt-library.js';
import { readJudgement } from './judgement.js';
import { renderAttempt } from './render-trajectory.js';
import { abstain, type Sample, toVerdict } from './yes-no-verdict.js';

export interface YesNoOptions {
  readonly llm: LlmClient;
  readonly prompts: PromptLibrary;
  readonly model: string;
  /** Answers to average for each candidate. */
  readonly samples?: number;
  /**
   * Least P(YES) + P(NO), 0..1. Below one half the model was about to say something else, and the ratio of the two
   * describes what it would hardly have done.
   */
  readonly minMass?: number;
  /** Limit of one answer in tokens; a reasoning model needs room to think, up to 8,192. */
  readonly maxTokens?: number;
  /** Limit of one prompt in characters, about 3.5 a token. */
  readonly maxInputChars?: number;
}

const PROMPT = 'verifier/yes-no';
/** DeepSWE-Verifier's input, 65,536 tokens, at 3.5 characters each. */
const MAX_INPUT_CHARS = 229_376;
/** Room for our own words around the data. */
const PROMPT_CHARS = 4_000;
/** What OpenAI-style servers allow at most. */
const TOP_LOGPROBS = 20;

/**
 * The execution-free verifier: asks a model whether the patch resolves the issue and scores P(YES) from the
 * log-probabilities of its verdict, 0..1. An unavailable model makes its candidate abstain; every other error ends
 * the run.
 */
export function createYesNoVerifier(options: YesNoOptions): Verifier {
  return {
    name: 'execution-free',
    measures: ['execution_free'],
    verify: (task, signal) => Promise.all(task.candidates.map((candidate) => judge(options, task, candidate, signal))),
  };
}

async function judge(
  options: YesNoOptions,
  { issue }: VerificationTask,
  { candidate_id: id, patch, trajectory }: Candidate,
  signal: AbortSignal,
): Promise<Verdict> {
  if (patch.trim() === '') return abstain(id, 'no-source-change', 'the patch is empty');
  const attempt = { issue: issue.problem_statement, steps: trajectory?.steps ?? [], patch };
  const rendered = renderAttempt(attempt, (options.maxInputChars ?? MAX_INPUT_CHARS) - PROMPT_CHARS);
  if (rendered === null) {
    return abstain(id, 'refused-patch', `a patch of ${patch.length} characters does not fit into the prompt`);
  }
  const { condensed, ...variables } = rendered;
  const { messages, templateHash } = await options.prompts.render(PROMPT, variables);
  const request = { model: options.model, messages, temperature: 1, purpose: 'judge', topLogprobs: TOP_LOGPROBS };
  const asked = Array.from({ length: options.samples ?? 1 }, (_, sample) =>
    ask(options.llm, { ...request, maxTokens: options.maxTokens ?? 16, sample }, signal),
  );
  const provenance = { promptHash: templateHash, model: options.model, condensed };
  return toVerdict(id, await Promise.all(asked), options.minMass ?? 0.5, provenance);
}

async function ask(llm: LlmClient, request: CompletionRequest, signal: AbortSignal): Promise<Sample> {
  try {
    const { logprobs, text } = await llm.complete(request, signal);
    const judgement = readJudgement(logprobs);
    if (judgement.kind === 'read') return judgement;
    return { kind: 'unreadable', detail: `${judgement.detail}; it answered ${JSON.stringify(text.slice(0, 120))}` };
  } catch (error) {
    if (error instanceof ModelUnavailableError) return { kind: 'unavailable', detail: error.message };
    throw error;
  }
}
