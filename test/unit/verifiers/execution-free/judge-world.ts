import { GptTokenizer } from '../../../../src/models/llm-clients.js';
import { MarkdownPromptLibrary } from '../../../../src/models/prompts/prompt-library.js';
import { Candidate } from '../../../../src/core/run/candidate.js';
import { Issue } from '../../../../src/core/run/issue.js';
import { Verdict } from '../../../../src/core/run/verdict.js';
import type { VerificationTask, Verifier } from '../../../../src/core/run/verifier.js';
import type { Completion, CompletionRequest, LlmClient } from '../../../../src/ports/llm-client.js';
import { JUDGE_DEFAULTS, type JudgeOptions } from '../../../../verifiers/execution-free/judge-options.js';
import { completionOf } from '../../../fakes/completions.js';

export const prompts = new MarkdownPromptLibrary();
export const tokenizer = new GptTokenizer();
export const issue = Issue.parse({ instance_id: 'i', problem_statement: 'It fails.', environment: { image: 'x' } });
const { signal } = new AbortController();

export const patchOf = (id: string): string => `--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+${id}\n`;

export function candidate(id: string, more: Partial<Candidate> = {}): Candidate {
  return Candidate.parse({ instance_id: 'i', candidate_id: id, patch: patchOf(id), ...more });
}

export type MakeVerifier = (options: JudgeOptions) => Verifier;

/** The verdicts by candidate, each checked against its schema. */
export async function judged(
  make: MakeVerifier,
  llm: LlmClient,
  candidates: readonly Candidate[],
  {
    statement = issue.problem_statement,
    task = {},
    ...options
  }: Partial<JudgeOptions> & { statement?: string; task?: Partial<VerificationTask> } = {},
): Promise<Record<string, Verdict>> {
  const verifier = make({ ...JUDGE_DEFAULTS, llm, prompts, tokenizer, model: 'judge', ...options });
  const verdicts = await verifier.verify(
    { issue: { ...issue, problem_statement: statement }, candidates, tests: [], ...task },
    signal,
  );
  expect(verdicts.map((verdict) => Verdict.parse(verdict))).toEqual(verdicts);
  expect(verdicts.map(({ candidate_id }) => candidate_id)).toEqual(candidates.map(({ candidate_id }) => candidate_id));
  return Object.fromEntries(verdicts.map((verdict) => [verdict.candidate_id, verdict]));
}

/** `<tag>X</tag>` with the probabilities of what may stand between, as a server with log-probabilities gives it. */
export function tagged(tag: string, top: Readonly<Record<string, number>>): Completion {
  const [said = ''] = Object.entries(top).sort(([, a], [, b]) => b - a)[0] ?? [];
  return completionOf([{ token: '<' }, { token: tag }, { token: '>' }, { token: said, top }, { token: `</${tag}>` }]);
}

export function plain(text: string): Completion {
  return { ...completionOf([{ token: text }]), logprobs: null };
}

/** The ids whose patches a prompt shows, in order. */
export function shown({ messages }: CompletionRequest): string[] {
  return [...(messages[1]?.content ?? messages[0]?.content ?? '').matchAll(/^\+(c\d+)$/gm)].map(([, id = '']) => id);
}
