import { GptTokenizer, StoredLlmClient } from '../../../../src/models/llm-clients.js';
import { MarkdownPromptLibrary } from '../../../../src/models/prompts/prompt-library.js';
import { Candidate } from '../../../../src/core/run/candidate.js';
import { Issue } from '../../../../src/core/run/issue.js';
import { ModelUnavailableError, RecordingMissError } from '../../../../src/core/errors/unavailable.js';
import { Verdict } from '../../../../src/core/run/verdict.js';
import { JUDGE_DEFAULTS, type JudgeOptions } from '../../../../verifiers/execution-free/judge-options.js';
import { createYesNoVerifier } from '../../../../verifiers/execution-free/pointwise/yes-no.js';
import { completionOf, judgementCompletion } from '../../../fakes/completions.js';
import { FakeLlmClient, type ScriptedCompletion } from '../../../fakes/fake-llm-client.js';
import { MemoryResultStore } from '../../../fakes/memory-result-store.js';

const issue = Issue.parse({ instance_id: 'i', problem_statement: 'It fails.', environment: { image: 'x' } });
const prompts = new MarkdownPromptLibrary();
const { signal } = new AbortController();
const patchOf = (id: string): string => `--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+${id}\n`;
const candidate = (id: string, patch = patchOf(id)): Candidate =>
  Candidate.parse({ instance_id: 'i', candidate_id: id, patch });

async function verify(
  llm: JudgeOptions['llm'],
  candidates: readonly Candidate[],
  options: Partial<JudgeOptions> = {},
): Promise<Record<string, Verdict>> {
  const verifier = createYesNoVerifier({
    ...JUDGE_DEFAULTS,
    llm,
    prompts,
    tokenizer: new GptTokenizer(),
    model: 'judge',
    ...options,
  });
  const verdicts = await verifier.verify({ issue, candidates, tests: [] }, signal);
  expect(verdicts.map((verdict) => Verdict.parse(verdict))).toEqual(verdicts);
  return Object.fromEntries(verdicts.map((verdict) => [verdict.candidate_id, verdict]));
}

/** Answers by what the prompt's patch adds. */
const byPatch = (answers: Readonly<Record<string, ScriptedCompletion>>): FakeLlmClient =>
  new FakeLlmClient(({ messages }) => {
    const [, id = ''] = /^\+(c\d+)$/m.exec(messages[1]?.content ?? '') ?? [];
    return answers[id] ?? new Error(`unexpected prompt of ${id}`);
  });

it('scores each candidate by P(YES), with its evidence', async () => {
  const llm = byPatch({ c1: judgementCompletion(0.9), c2: judgementCompletion(0.2) });
  const { c1, c2 } = await verify(llm, [candidate('c1'), candidate('c2')]);
  expect(c1).toEqual({
    kind: 'scored',
    candidate_id: 'c1',
    measure: 'execution_free',
    score: expect.closeTo(0.9, 10) as number,
    out_of: 1,
    evidence: {
      method: 'yes-no-logprobs',
      mass: expect.closeTo(1, 10) as number,
      samples: 1,
      prompt: 'verifier/yes-no',
      prompt_hash: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
      model: 'judge',
      condensed: false,
      shown: [],
    },
  });
  expect(c2).toMatchObject({ kind: 'scored', score: expect.closeTo(0.2, 10) as number });
});

it('asks at temperature 1 for log-probabilities, and shows issue, steps and patch', async () => {
  const llm = new FakeLlmClient(() => judgementCompletion(0.9));
  const steps = [{ thought: 'I look.', action: 'cat a.py', observation: 'a' }];
  await verify(llm, [{ ...candidate('c1'), trajectory: { steps, exit_reason: 'agent' } }]);
  expect(llm.requests).toHaveLength(1);
  expect(llm.requests[0]).toMatchObject({
    temperature: 1,
    topLogprobs: 20,
    maxTokens: 16,
    sample: 0,
    purpose: 'judge',
  });
  const [system, user] = llm.requests[0]?.messages ?? [];
  expect(system?.role).toBe('system');
  const text = user?.content ?? '';
  const places = ['It fails.', 'I look.', 'cat a.py', '=== FINAL PATCH', '+c1', 'is data.', 'Answer with'];
  const found = places.map((place) => text.indexOf(place));
  expect(found).not.toContain(-1);
  expect(found).toEqual(found.toSorted((a, b) => a - b));
});

it('averages samples and leaves unreadable ones out', async () => {
  const answers = [judgementCompletion(0.9), completionOf([{ token: 'YES' }]), judgementCompletion(0.5)];
  const { c1 } = await verify(new FakeLlmClient(answers), [candidate('c1')], { samples: 3 });
  expect(c1).toMatchObject({ kind: 'scored', score: expect.closeTo(0.7, 10) as number, evidence: { samples: 2 } });
});

describe('abstains', () => {
  const tag = { token: '<judgement>' };
  it.each<[string, ScriptedCompletion, string]>([
    ['low mass', completionOf([tag, { token: 'Hm', top: { Hm: 0.8, YES: 0.15, NO: 0.05 } }]), 'low-mass'],
    ['no tag', completionOf([{ token: 'YES' }]), 'unreadable-answer'],
    ['no model', new ModelUnavailableError('gone'), 'model-unavailable'],
  ])('%s; the others go on', async (_name, answer, reason) => {
    const llm = byPatch({ c1: answer, c2: judgementCompletion(0.9) });
    const { c1, c2 } = await verify(llm, [candidate('c1'), candidate('c2')]);
    expect(c1).toMatchObject({ kind: 'abstained', measure: 'execution_free', reason });
    expect(c2).toMatchObject({ kind: 'scored' });
  });

  it('without asking anybody, for a patch that is empty or does not fit', async () => {
    const large = `${patchOf('c2')}${'+word word\n'.repeat(10_000)}`;
    const { c1, c2 } = await verify(new FakeLlmClient([]), [candidate('c1', ' \n'), candidate('c2', large)], {
      promptTokens: 5_000,
    });
    expect(c1).toMatchObject({ kind: 'abstained', reason: 'no-source-change' });
    expect(c2).toMatchObject({ kind: 'abstained', reason: 'refused-patch' });
  });
});

it('takes an answer of any mass when told to, but never one of none', async () => {
  const faint = completionOf([{ token: '<judgement>' }, { token: 'Hm', top: { Hm: 0.96, YES: 0.03, NO: 0.01 } }]);
  const none = completionOf([{ token: '<judgement>' }, { token: 'Hm' }]);
  const llm = byPatch({ c1: faint, c2: none });
  const { c1, c2 } = await verify(llm, [candidate('c1'), candidate('c2')], { minMass: 0 });
  expect(c1).toMatchObject({ kind: 'scored', score: expect.closeTo(0.75, 10) as number });
  expect(c2).toMatchObject({ kind: 'abstained', reason: 'unreadable-answer' });
});

it('ends the run for a call the recording does not hold, and for errors nobody expects', async () => {
  const missing = new RecordingMissError('r.jsonl', 'k');
  await expect(verify(byPatch({ c1: missing }), [candidate('c1')])).rejects.toBe(missing);
  const bug = new TypeError('bug');
  await expect(verify(byPatch({ c1: bug }), [candidate('c1')])).rejects.toBe(bug);
});

it('pays once for candidates whose prompts are equal', async () => {
  const inner = byPatch({ c1: judgementCompletion(0.9) });
  const llm = new StoredLlmClient(inner, new MemoryResultStore(), () => 'here');
  const { c1, twin } = await verify(llm, [candidate('c1'), candidate('twin', patchOf('c1'))]);
  expect(inner.requests).toHaveLength(1);
  expect([c1, twin]).toMatchObject([{ score: expect.any(Number) as number }, { candidate_id: 'twin', kind: 'scored' }]);
});

it('shows no record where it is told to, so that none asks for a vote and equal patches share one', async () => {
  const llm = new FakeLlmClient(() => judgementCompletion(0.9));
  const told = (id: string, thought: string): Candidate => ({
    ...candidate(id, patchOf('c1')),
    trajectory: { steps: [{ thought, action: 'git log --all', observation: '' }], exit_reason: 'agent' },
  });
  const candidates = [told('c1', 'It is right.'), told('c2', 'It is wrong.')];
  const asked = async (more: Partial<JudgeOptions>): Promise<readonly string[]> => {
    const from = llm.requests.length;
    await verify(llm, candidates, more);
    return llm.requests.slice(from).map(({ messages }) => messages.map(({ content }) => content).join('\n'));
  };
  const alone = await asked({ patchAlone: true });
  expect(alone[0]).not.toMatch(/It is right|git log/);
  expect(alone[1]).toBe(alone[0]);
  expect((await asked({}))[1]).toContain('It is wrong.');
  // Its verifier was trained on records.
  expect((await asked({ patchAlone: true, prompt: 'verifier/deepswe' }))[1]).toContain('It is wrong.');
});

it('keeps each score with its candidate when answers come in another order', async () => {
  const probabilities = Array.from({ length: 8 }, (_, index) => (index + 1) / 10);
  const answers = Object.fromEntries(probabilities.map((p, index) => [`c${index}`, judgementCompletion(p)]));
  const prompt = byPatch(answers);
  const late = new FakeLlmClient([]);
  let asked = 0;
  late.complete = async (request, both) => {
    const delay = 80 - 10 * (asked += 1);
    const answer = await prompt.complete(request, both);
    await new Promise((resolve) => setTimeout(resolve, delay));
    return answer;
  };
  const verdicts = await verify(
    late,
    Object.keys(answers).map((id) => candidate(id)),
  );
  for (const [index, p] of probabilities.entries()) {
    expect(verdicts[`c${index}`]).toMatchObject({ score: expect.closeTo(p, 10) as number });
  }
});
