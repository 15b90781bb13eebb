import { loadConfig } from '../../../src/app/config.js';
import { ConfiguredJudgePrompts } from '../../../src/app/judge-prompts.js';
import { type Candidate } from '../../../src/core/run/candidate.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import type { OpenedRun } from '../../../src/http/runs/evidence-of-run.js';
import { judgedIn, judgePromptOf, type JudgePromptView } from '../../../src/http/runs/judge-prompt-view.js';
import type { Completion, CompletionRequest } from '../../../src/ports/llm-client.js';
import { type JudgedBefore, JudgePrompts } from '../../../src/runs/run-dependencies.js';
import { createJudge } from '../../../verifiers/index.js';
import { judgeNamed } from '../../../src/core/run/verifier.js';
import { JUDGE_DEFAULTS } from '../../../verifiers/execution-free/judge-options.js';
import { FakeLlmClient } from '../../fakes/fake-llm-client.js';
import { completionOf } from '../../fakes/completions.js';
import { candidate, issue, plain, prompts, tagged, tokenizer } from '../verifiers/execution-free/judge-world.js';

class SamePrompt extends JudgePrompts {
  readonly asked: JudgedBefore[] = [];

  of(judged: JudgedBefore) {
    this.asked.push(judged);
    return Promise.resolve({ prompts: [[{ role: 'user' as const, content: 'Right?' }]], hash: 'h' });
  }
}

interface Ran {
  readonly candidates: readonly Partial<Candidate>[];
  readonly verdicts?: readonly Partial<Verdict>[] | null;
  readonly verifiers?: readonly string[];
}

function opened({ candidates, verdicts = null, verifiers }: Ran): OpenedRun {
  return {
    run: { id: 'r' },
    request: { issue, verifiers: verifiers ?? null },
    candidates: candidates.map((each) => ({ patch: '', trajectory: null, ...each })),
    result: verdicts === null ? null : { verdicts, provenance: { verifiers: ['ef', 'eb'] } },
  } as unknown as OpenedRun;
}

const scored = (measure: string, evidence: Verdict['evidence']): Partial<Verdict> => {
  return { kind: 'scored', candidate_id: 'c1', measure, score: 1, out_of: 1, evidence };
};

it.each([
  [{ prompt_hash: 'h', shown: ['source', 'trajectory', 'tests', 'flags'] }, true, ['source', 'tests']],
  [{ prompt_hash: 'another', shown: ['flags'] }, false, []],
  [{ shown: 'source' }, null, []],
])('tells what of %j it leaves out', async (evidence, same_template, left_out) => {
  const run = opened({ candidates: [{ candidate_id: 'c1' }], verdicts: [scored('execution_free', evidence)] });
  const view = await judgePromptOf(judgedIn(run, 'c1'), new SamePrompt());
  const one = { question: 0, questions: 1, compared_with: null };
  expect(view).toEqual({ messages: [{ role: 'user', content: 'Right?' }], ...one, same_template, left_out });
  await expect(judgePromptOf(judgedIn(run, 'c1'), new SamePrompt(), 1)).rejects.toThrow('The last question');
});

it.each([
  ['long', { patch: 'x'.repeat(3_000_000), trajectory: null }],
  [
    'has many steps',
    { patch: '', trajectory: { steps: Array(6_000).fill({ thought: '', action: '', observation: '' }) } as never },
  ],
])('refuses what is %s: others wait meanwhile', (_what, attempt) => {
  expect(() => judgedIn(opened({ candidates: [{ candidate_id: 'c1', ...attempt }] }), 'c1')).toThrow('too large');
});

it('shows the prompt of the judge that is asked for', async () => {
  const of = (model: string) => scored(`ef:yes-no@${model}`, { prompt_hash: `h-${model}`, shown: [], model });
  const run = opened({ candidates: [{ candidate_id: 'c1' }], verdicts: [of('a'), of('b')] });
  const same = new SamePrompt();
  for (const measure of [undefined, 'ef:yes-no@a', 'ef:yes-no@b'])
    await judgePromptOf(judgedIn(run, 'c1', measure), same);
  expect(same.asked.map(({ verifier }) => verifier)).toEqual(['ef:yes-no@a', 'ef:yes-no@a', 'ef:yes-no@b']);
  expect(() => judgedIn(run, 'c1', 'ef:rubric@a')).toThrow('No judge of the measure "ef:rubric@a"');
});

describe('what a judge asked', () => {
  const steps = [{ thought: 'I look.', action: 'ls', observation: 'a.py' }];
  const tried = (id: string): Candidate => candidate(id, { trajectory: { steps, exit_reason: 'agent' } });
  const summary = { hypotheses: 'H', decisions: '', progress: '', failures: '', outcome: '', files: [] };

  /** Answers every way of asking. */
  const answer = (request: CompletionRequest): Completion => {
    const text = request.messages.map(({ content }) => content).join('\n');
    if (request.head !== undefined) return { ...plain(''), outputs: Array.from({ length: 27 }, () => 0.4) };
    if (request.responseSchema?.name === 'summary') return plain(JSON.stringify(summary));
    if (text.includes('nobody says why')) return plain('It says the problem.');
    if (text.includes('<better>')) return tagged('better', { A: 0.6, B: 0.4 });
    if (text.includes('<score>')) return tagged('score', { A: 0.9, C: 0.1 });
    return completionOf([{ token: '<judgement>' }, { token: 'YES' }, { token: '</judgement>' }]);
  };
  /** What of a run's calls are no questions about a candidate. */
  const isAside = ({ responseSchema, head, messages: [first] }: CompletionRequest): boolean =>
    responseSchema?.name === 'summary' || (head !== undefined && (first?.content.length ?? 0) < 100);

  it.each([
    ['ef:yes-no', 1, {}],
    ['ef:rubric', 3, {}],
    ['ef:backward', 2, {}],
    ['ef:critic', 1, {}],
    ['ef:pairwise', 2, {}],
    ['ef:pairs', 2, {}],
    ['ef:pairs', 2, { summaries: true }],
  ] as const)('is shown word for word: %s, %i questions, %j', async (verifier, questions, options) => {
    const method = judgeNamed(verifier)?.method ?? 'yes-no';
    const llm = new FakeLlmClient(answer);
    const whole = {
      ...JUDGE_DEFAULTS,
      ...options,
      llm,
      prompts,
      tokenizer,
      model: 'judge',
      prompt: 'verifier/yes-no',
    } as const;
    const task = { issue, candidates: [tried('c1'), tried('c2')], tests: [] };
    const verdicts = await createJudge(method, whole, {} as never).verify(task, new AbortController().signal);
    const run = opened({ candidates: task.candidates, verdicts, verifiers: [verifier] });
    const again = new ConfiguredJudgePrompts(loadConfig({ BESTK_VERIFIER_MODEL: 'judge' }), { prompts, tokenizer });
    const views: JudgePromptView[] = [];
    for (let question = 0; question < questions; question += 1) {
      views.push(await judgePromptOf(judgedIn(run, 'c1'), again, question));
    }
    const asked = llm.requests.filter((each) => !isAside(each)).map(({ messages }) => messages);
    for (const { messages } of views) expect(asked).toContainEqual(messages);
    expect(new Set(views.map(({ messages }) => JSON.stringify(messages))).size).toBe(questions);
    const compared_with = method.startsWith('pair') ? 'c2' : null;
    for (const view of views) {
      expect(view).toMatchObject({ questions, compared_with, same_template: true, left_out: [] });
    }
  });

  it('is shown of a judge with tools, with what it is told of them', async () => {
    const again = new ConfiguredJudgePrompts(loadConfig({}), { prompts, tokenizer });
    const run = opened({ candidates: [candidate('c1')], verifiers: ['ef:agent', 'eb'] });
    const { messages, questions, same_template } = await judgePromptOf(judgedIn(run, 'c1'), again);
    expect({ questions, same_template }).toEqual({ questions: 1, same_template: null });
    expect(messages[0]?.content).toMatch(/^You are a judge[^]*### finish/);
    expect(messages[1]?.content).toMatch(/\+c1\n[^]*You have 20 steps/);
  });

  it('is nothing where there is nobody to compare with, or no patch', async () => {
    const again = new ConfiguredJudgePrompts(loadConfig({}), { prompts, tokenizer });
    for (const [verifiers, patch] of [
      [['ef:pairs'], undefined],
      [['ef'], ''],
    ] as const) {
      const run = opened({ candidates: [candidate('c1', patch === undefined ? {} : { patch })], verifiers });
      await expect(judgePromptOf(judgedIn(run, 'c1'), again)).rejects.toThrow('no judge prompt about candidate "c1"');
    }
  });
});
