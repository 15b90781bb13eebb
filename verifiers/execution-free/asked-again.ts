import { ModelUnavailableError } from '../../src/core/errors/unavailable.js';
import { neutralise } from '../../src/core/hostile-text.js';
import type { Inspect, Inspection } from '../../src/core/run/rollout.js';
import type { Verdict } from '../../src/core/run/verdict.js';
import type { VerificationTask, Verifier } from '../../src/core/run/verifier.js';
import { type Completion, type CompletionRequest, LlmClient, type Message } from '../../src/ports/llm-client.js';
import { LABELS } from './critic/critic.js';

/** Earlier model answers that the next question depends on. */
export interface AnsweredThen {
  /** Evidence of the verdict on this candidate; null = it has no verdict. */
  readonly evidence: Verdict['evidence'] | null;
  /** Summaries of attempts, keyed by patch. */
  readonly summaries: ReadonlyMap<string, Verdict['evidence'][string]>;
}

/** The questions a judge asked about one candidate. */
export interface AskedAgain {
  /** Without duplicates, in the order asked. */
  readonly prompts: readonly (readonly Message[])[];
  /** Hash of the templates, as in verdicts; null when nothing was asked. */
  readonly hash: string | null;
}

/**
 * The questions a judge asks about a candidate, found by running the judge again with a model that only records them: the
 * result is exactly what was asked, without a second renderer.
 * @param make builds the judge from a model client and an inspecting agent
 * @param opening first messages of an inspecting judge's conversation
 * @throws what the verifier throws
 */
export async function askedAgain(
  make: (llm: LlmClient, inspect: Inspect) => Verifier,
  opening: (inspection: Inspection) => Promise<readonly Message[]>,
  {
    task,
    candidateId,
    then,
  }: { readonly task: VerificationTask; readonly candidateId: string; readonly then: AnsweredThen },
): Promise<AskedAgain> {
  const nobody = new Nobody(then);
  const inspect: Inspect = async (_issue, inspection) => nobody.refuse(await opening(inspection));
  const verdicts = await make(nobody, inspect).verify(task, new AbortController().signal);
  const hash = verdicts.find(({ candidate_id }) => candidate_id === candidateId)?.evidence.prompt_hash;
  const prompts = [...new Map(nobody.prompts.map((prompt) => [JSON.stringify(prompt), prompt])).values()];
  return { prompts, hash: typeof hash === 'string' && hash !== '' ? hash : null };
}

/** A model client that records each question and refuses to answer it. */
class Nobody extends LlmClient {
  readonly prompts: (readonly Message[])[] = [];
  private probed = false;

  constructor(private readonly then: AnsweredThen) {
    super();
  }

  override complete(request: CompletionRequest): Promise<Completion> {
    return Promise.resolve().then(() => this.answer(request));
  }

  private answer({ head, messages, responseSchema }: CompletionRequest): Completion {
    const { evidence, summaries } = this.then;
    if (head !== undefined && !this.probed) {
      this.probed = true;
      return said(
        '',
        Array.from({ length: evidence?.labels === undefined ? 1 : LABELS.length }, () => PROBED[head] ?? 0.5),
      );
    }
    if (responseSchema?.name === 'summary') return said(JSON.stringify(summaryIn(messages, summaries)));
    if (this.prompts.length === 0 && typeof evidence?.problem === 'string') {
      this.prompts.push(messages);
      return said(evidence.problem);
    }
    return this.refuse(messages);
  }

  refuse(prompt: readonly Message[]): never {
    this.prompts.push(prompt);
    throw new ModelUnavailableError('nobody is asked');
  }
}

/** A possible output of each kind of head: raw outputs (`pooling`) lie outside 0..1. */
const PROBED: Readonly<Partial<Record<string, number>>> = { pooling: 2 };

function summaryIn(messages: readonly Message[], summaries: AnsweredThen['summaries']): unknown {
  const text = messages.map(({ content }) => content).join('\n');
  const shown = [...summaries].find(([patch]) => text.includes(neutralise(patch).trimEnd()));
  return shown?.[1] ?? null;
}

function said(text: string, outputs?: number[]): Completion {
  const nothing = { reasoning: '', tool_calls: [], logprobs: null, finish_reason: 'stop', usage: null, model: '' };
  return { ...nothing, text, ...(outputs === undefined ? {} : { outputs }) };
}
