import { ModelUnavailableError } from '../../src/core/errors/unavailable.js';
import { neutralise } from '../../src/core/hostile-text.js';
import type { Inspect, Inspection } from '../../src/core/run/rollout.js';
import type { Verdict } from '../../src/core/run/verdict.js';
import type { VerificationTask, Verifier } from '../../src/core/run/verifier.js';
import { type Completion, type CompletionRequest, LlmClient, type Message } from '../../src/ports/llm-client.js';
import { LABELS } from './critic/critic.js';

/** What models answered then, as far as the next question depends on it. */
export interface AnsweredThen {
  /** Of the candidate that is asked about; null = it has no verdict. */
  readonly evidence: Verdict['evidence'] | null;
  /** Summaries of attempts by their patches. */
  readonly summaries: ReadonlyMap<string, Verdict['evidence'][string]>;
}

/** What a judge asked about one candidate. */
export interface AskedAgain {
  /** Each once, in the order in which they are asked. */
  readonly prompts: readonly (readonly Message[])[];
  /** Of the templates, as verdicts have it; null when nothing was asked. */
  readonly hash: string | null;
}

/**
 * What a judge asks about a candidate, by having it ask once more with nobody there to answer: what is shown is what was asked,
 * and no second code renders it.
 * @param make the judge, of who answers and who looks
 * @param opening of the conversation of a judge that looks
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

/** Notes what it is asked. */
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

/** An output that a head of its kind may give: raw ones are no probabilities. */
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
