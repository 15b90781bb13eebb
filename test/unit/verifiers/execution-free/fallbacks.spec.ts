import fc from 'fast-check';
import {
  BudgetSpentError,
  ContextTooLongError,
  ModelUnavailableError,
} from '../../../../src/core/errors/unavailable.js';
import { betaOfVotes } from '../../../../verifiers/execution-free/pointwise/yes-no.js';
import { fitAttempt } from '../../../../verifiers/execution-free/render/render-attempt.js';
import { JUDGE_DEFAULTS } from '../../../../verifiers/execution-free/judge-options.js';
import { createProgressJudge } from '../../../../verifiers/execution-free/pointwise/yes-no.js';
import { createPairsVerifier, createPairwiseVerifier } from '../../../../verifiers/execution-free/pairs/pairwise.js';
import { createYesNoVerifier } from '../../../../verifiers/execution-free/pointwise/yes-no.js';
import { completionOf, judgementCompletion } from '../../../fakes/completions.js';
import { FakeLlmClient, type ScriptedCompletion } from '../../../fakes/fake-llm-client.js';
import type { Completion, CompletionRequest } from '../../../../src/ports/llm-client.js';
import { createRubricVerifier } from '../../../../verifiers/execution-free/pointwise/rubric.js';
import { candidate, issue, judged, patchOf, plain, prompts, shown, tagged, tokenizer } from './judge-world.js';

const { signal } = new AbortController();
const yes = plain('<judgement>YES</judgement>');
const no = plain('<judgement>NO</judgement>');

it('counts sampled votes where the server gives no log-probabilities', async () => {
  const llm = new FakeLlmClient([yes, yes, no, yes, plain('hm'), yes, yes, yes]);
  const { c1 } = await judged(createYesNoVerifier, llm, [candidate('c1')]);
  expect(llm.requests.map(({ sample }) => sample)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(c1).toMatchObject({ kind: 'scored', score: 7 / 9, evidence: { method: 'yes-no-votes', votes: 7, yes: 6 } });
  const { low, high } = c1?.evidence as { low: number; high: number };
  expect(low).toBeLessThan(7 / 9);
  expect(high).toBeGreaterThan(7 / 9);
});

describe('log-probabilities that name tokens by number', () => {
  const numbered = (text: string, name: (at: number) => string): Completion => {
    const tokens = Array.from({ length: 3 }, (_, at) => ({ token: name(at), top: { [name(at)]: 0.9 } }));
    return { ...completionOf(tokens), text };
  };
  const NAMES: readonly (readonly [string, (at: number) => string])[] = [
    ['vLLM', (at) => `token_id:${at}`],
    ['numbers alone', String],
    ['in brackets', (at) => `<token_${at}>`],
    ['shortened', (at) => `id:${at}`],
  ];

  it.each(NAMES)('count as none: sampled votes decide, and the evidence names the cause: %s', async (_name, name) => {
    const llm = new FakeLlmClient(() => numbered('<judgement>YES</judgement>', name));
    const { c1 } = await judged(createYesNoVerifier, llm, [candidate('c1')]);
    expect(llm.requests).toHaveLength(8);
    expect(c1).toMatchObject({ kind: 'scored', evidence: { method: 'yes-no-votes', votes: 8 } });
    expect(c1?.evidence.unused_logprobs).toContain(`name tokens by number: ${name(0)}`);
  });

  it('leave the stated letters of a rubric, and the stated side of a pair', async () => {
    const says = (text: string) => new FakeLlmClient(() => numbered(text, (at) => `token_id:${at}`));
    const { c1 } = await judged(createRubricVerifier, says('<score>A</score>'), [candidate('c1')]);
    expect(c1).toMatchObject({ kind: 'scored', score: 1, evidence: { method: 'rubric-letters' } });
    const pair = [candidate('c1'), candidate('c2')];
    const { c2 } = await judged(createPairwiseVerifier, says('<better>A</better>'), pair);
    for (const verdict of [c1, c2]) expect(verdict?.evidence.unused_logprobs).toContain('token_id:0');
  });

  it('are none only if they say nothing: an answer may be a number', async () => {
    const llm = new FakeLlmClient([completionOf([{ token: '1' }, { token: '2' }])]);
    const { c1 } = await judged(createYesNoVerifier, llm, [candidate('c1')]);
    expect(c1).toMatchObject({ kind: 'abstained', evidence: { method: 'yes-no-logprobs' } });
  });
});

it.each([
  ['a draft in a thought', '<think><judgement>YES</judgement></think><judgement>NO</judgement>', 1 / 3],
  ['an earlier word', '<judgement>YES</judgement> or rather <judgement>NO</judgement>', 1 / 3],
  ['small letters', '<judgement> yes </judgement>', 2 / 3],
])('reads the last verdict behind the thoughts: %s', async (_name, text, score) => {
  const { c1 } = await judged(createYesNoVerifier, new FakeLlmClient([plain(text)]), [candidate('c1')], { samples: 1 });
  expect(c1).toMatchObject({ kind: 'scored', score });
});

it('asks for a grade when no vote can be read, and abstains when that is none either', async () => {
  const llm = (grade: string): FakeLlmClient =>
    new FakeLlmClient(({ responseSchema }) => plain(responseSchema === undefined ? 'I cannot say.' : grade));
  expect((await judged(createYesNoVerifier, llm('{"grade": 30}'), [candidate('c1')])).c1).toMatchObject({
    score: 0.3,
    evidence: { method: 'numeric-grade' },
  });
  expect((await judged(createYesNoVerifier, llm('no'), [candidate('c1')])).c1).toMatchObject({
    kind: 'abstained',
    reason: 'unreadable-answer',
  });
});

it('is exact about votes: the interval holds 95 % of Beta(yes + 1, no + 1)', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.nat(30), (votes, given) => {
      const count = Math.min(given, votes);
      const { mean, low, high } = betaOfVotes(count, votes);
      expect(mean).toBeCloseTo((count + 1) / (votes + 2), 12);
      // Simpson's rule over the density, which is a polynomial.
      const density = (x: number): number => x ** count * (1 - x) ** (votes - count);
      const area = (from: number, to: number): number => {
        const h = (to - from) / 2_000;
        let sum = density(from) + density(to);
        for (let i = 1; i < 2_000; i += 1) sum += density(from + i * h) * (i % 2 === 0 ? 2 : 4);
        return (sum * h) / 3;
      };
      expect(area(low, high) / area(0, 1)).toBeCloseTo(0.95, 4);
      expect(area(0, low) / area(0, 1)).toBeCloseTo(0.025, 4);
    }),
    { numRuns: 30 },
  );
});

it('reads the first token where the server goes on with our beginning, and a whole answer where it does not', async () => {
  const goesOn = new FakeLlmClient(() => completionOf([{ token: 'YES', top: { YES: 0.7, NO: 0.3 } }]));
  const does = await judged(createYesNoVerifier, goesOn, [candidate('c1')], { prefill: true });
  expect(does.c1).toMatchObject({ score: expect.closeTo(0.7, 10) as number });
  const doesNot = new FakeLlmClient(() => judgementCompletion(0.4));
  const all = await judged(createYesNoVerifier, doesNot, [candidate('c1')], { prefill: true });
  expect(all.c1).toMatchObject({ score: expect.closeTo(0.4, 10) as number });
});

it('judges a running trajectory, and says nothing when it cannot', async () => {
  const steps = [{ thought: 'I look.', action: 'ls', observation: 'a.py' }];
  const progress = (llm: FakeLlmClient): Promise<number | null> =>
    createProgressJudge({ ...JUDGE_DEFAULTS, llm, prompts, tokenizer, model: 'judge' })('It fails.', steps, signal);
  const llm = new FakeLlmClient(() => judgementCompletion(0.3));
  expect(await progress(llm)).toBeCloseTo(0.3, 10);
  expect(llm.requests[0]?.messages[1]?.content).toMatch(/It fails\.[^]*I look\.[^]*may the agent still/i);
  expect(await progress(new FakeLlmClient(() => plain('YES')))).toBeNull();
  expect(await progress(new FakeLlmClient(() => new ModelUnavailableError('down')))).toBeNull();
});

it('asks about running trajectories no more once the server gave an answer without log-probabilities', async () => {
  const steps = [{ thought: 'I look.', action: 'ls', observation: 'a.py' }];
  const judgeOf = (answers: readonly ScriptedCompletion[]) => {
    const llm = new FakeLlmClient(answers);
    const judge = createProgressJudge({ ...JUDGE_DEFAULTS, llm, prompts, tokenizer, model: 'judge' });
    return { llm, ask: () => judge('It fails.', steps, signal) };
  };
  const blind = judgeOf([plain('<judgement>NO</judgement>')]);
  expect([await blind.ask(), await blind.ask(), blind.llm.requests.length]).toEqual([null, null, 1]);
  const down = judgeOf([new ModelUnavailableError('down'), judgementCompletion(0.3)]);
  expect([await down.ask(), await down.ask()]).toEqual([null, expect.closeTo(0.3, 10)]);
});

describe('a prompt that is too long for the server', () => {
  const steps = Array.from({ length: 40 }, (_, n) => ({
    thought: `t${n}`,
    action: 'ls',
    observation: 'word '.repeat(2_000),
  }));
  const long = candidate('c1', { trajectory: { steps, exit_reason: 'agent' } });

  it('is shortened once', async () => {
    const lengths: number[] = [];
    const llm = new FakeLlmClient(({ messages }) => {
      lengths.push(messages[1]?.content.length ?? 0);
      return lengths.length === 1 ? new ContextTooLongError('40000 > 32768') : judgementCompletion(0.8);
    });
    const { c1 } = await judged(createYesNoVerifier, llm, [long], { promptTokens: 20_000 });
    expect(c1).toMatchObject({ kind: 'scored', evidence: { condensed: true } });
    expect((lengths[1] ?? 0) / (lengths[0] ?? 1)).toBeLessThan(0.7);
  });

  it('makes the candidate abstain when that does not help', async () => {
    const llm = new FakeLlmClient(() => new ContextTooLongError('40000 > 8192'));
    const { c1 } = await judged(createYesNoVerifier, llm, [long]);
    expect(c1).toMatchObject({ kind: 'abstained', reason: 'prompt-too-long' });
    expect(llm.requests).toHaveLength(2);
  });
});

it('abstains when the budget is spent, and asks no more', async () => {
  const llm = new FakeLlmClient(() => new BudgetSpentError('no room'));
  const { c1 } = await judged(createYesNoVerifier, llm, [candidate('c1')], { samples: 5 });
  expect(c1).toMatchObject({ kind: 'abstained', reason: 'budget-spent' });
  expect(llm.requests).toHaveLength(1);
});

describe('the token budget', () => {
  const attempt = (observation: string, count: number) => ({
    issue: issue.problem_statement,
    steps: Array.from({ length: count }, (_, n) => ({ thought: `thought ${n}`, action: `act ${n}`, observation })),
    patch: patchOf('c1'),
  });

  it.each([
    ['5,000 steps', attempt('some output '.repeat(20), 5_000)],
    ['an observation of 20 MB', attempt('0123456789abcdef\n'.repeat(1_250_000), 1)],
    ['a text of dense tokens', attempt('漢字かな交じり文。'.repeat(4_000), 30)],
    ['a text of many signs', attempt('!@#$%^&*(){}[]|~'.repeat(4_000), 30)],
  ])('is kept, with issue, last steps and patch: %s', async (_name, given) => {
    const rendered = await fitAttempt(given, tokenizer, 20_000);
    const text = `${rendered?.issue}\n${rendered?.steps}\n${rendered?.patch}`;
    expect(await tokenizer.count(text)).toBeLessThanOrEqual(19_000);
    expect(await tokenizer.count(text)).toBeGreaterThan(2_000);
    expect(rendered).toMatchObject({ issue: 'It fails.', condensed: true });
    expect(rendered?.patch).toContain('+c1');
    expect(rendered?.steps).toContain(`act ${given.steps.length - 1}`);
    expect(await fitAttempt(given, tokenizer, 20_000)).toEqual(rendered);
  });

  it('leaves alone what fits', async () => {
    const rendered = await fitAttempt(attempt('short', 3), tokenizer, 20_000);
    expect(rendered?.condensed).toBe(false);
  });

  it.each([
    ['between long steps', '+a word\n'.repeat(60)],
    ['that fills the prompt', '+a word and more words\n'.repeat(1_700)],
    ['of few tokens', `+${' '.repeat(79)}\n`.repeat(740)],
  ])('has room for a patch %s', async (_name, patch) => {
    const long = 'word and word '.repeat(430);
    const steps = Array.from({ length: 3 }, () => ({ thought: long, action: long, observation: long }));
    const source = `--- a.py (changed)\n${long}\n\n`.repeat(4);
    const rendered = await fitAttempt({ issue: long, steps, patch, source }, tokenizer, 12_000);
    expect(rendered?.patch.length).toBe(patch.trimEnd().length);
    expect(await tokenizer.count(Object.values(rendered ?? {}).join('\n'))).toBeLessThan(10_600);
  });

  it('does not judge half a patch', async () => {
    expect(await fitAttempt({ ...attempt('x', 1), patch: `+${'word '.repeat(50_000)}` }, tokenizer, 20_000)).toBeNull();
  });
});

describe.each([
  ['pairs', createPairsVerifier],
  ['the tournament', createPairwiseVerifier],
])('a comparison that fails, in %s', (_name, make) => {
  /** Fails if c1 meets any but c4. */
  const failing = (error: Error): FakeLlmClient =>
    new FakeLlmClient((request) => {
      const pair = shown(request);
      if (pair.includes('c1') && pair.some((id) => id === 'c2' || id === 'c3')) return error;
      return tagged('better', { A: 0.9, B: 0.1 });
    });
  const four = ['c1', 'c2', 'c3', 'c4'].map((id) => candidate(id));

  it('makes both candidates abstain in an outage, and leaves the others their scores', async () => {
    for (const [error, reason] of [
      [new ModelUnavailableError('down'), 'model-unavailable'],
      [new BudgetSpentError('no tokens'), 'budget-spent'],
    ] as const) {
      const llm = failing(error);
      const { c1, c4 } = await judged(make, llm, four);
      expect(c1).toMatchObject({ kind: 'abstained', reason });
      expect(c4).toMatchObject({ kind: 'scored' });
    }
  });

  it.each([
    ['its prompt is too long', new ContextTooLongError('too long')],
    ['the server refuses the request', new ModelUnavailableError('400 filtered', { refused: true })],
  ])('is left out if %s, which says something of one patch only', async (_what, error) => {
    const verdicts = await judged(make, failing(error), four);
    for (const id of ['c2', 'c3', 'c4']) expect(verdicts[id]).toMatchObject({ kind: 'scored' });
  });
});

it('compares attempts whose steps, issue and source fill more than half a small prompt', async () => {
  const long = 'word and word '.repeat(430);
  const steps = Array.from({ length: 3 }, () => ({ thought: long, action: long, observation: long }));
  const tried = ['c1', 'c2'].map((id) => candidate(id, { trajectory: { steps, exit_reason: 'agent' } }));
  const llm = new FakeLlmClient(() => tagged('better', { A: 0.9, B: 0.1 }));
  const verdicts = await judged(createPairsVerifier, llm, tried, { statement: long, promptTokens: 4_000 });
  expect(verdicts).toMatchObject({ c1: { kind: 'scored' }, c2: { kind: 'scored', evidence: { condensed: true } } });
});

it('asks in both orders with the same issue and source, even if one patch leaves hardly any room for them', async () => {
  const llm = new FakeLlmClient((request) =>
    tagged('better', shown(request)[0] === 'c2' ? { A: 0.9, B: 0.1 } : { A: 0.1, B: 0.9 }),
  );
  const statement = 'It fails when the file is empty. '.repeat(30);
  const source = `--- a.py (changed)\n${'y = 2\n'.repeat(100)}`;
  const sources = async (_: unknown, patches: readonly string[]) => new Map(patches.map((patch) => [patch, source]));
  const huge = candidate('c2', { patch: `${patchOf('c2')}${'+    return value\n'.repeat(450)}` });
  const options = { statement, sources, promptTokens: 8_000 };
  const { c2 } = await judged(createPairsVerifier, llm, [candidate('c1'), huge], options);
  expect(c2?.evidence).toMatchObject({ wins: 1, shown: [] });
  const texts = llm.requests.map(({ messages }) => messages[1]?.content ?? '');
  expect(texts).toHaveLength(2);
  const [forth, back] = texts.map((text) => text.slice(0, text.indexOf('=== ATTEMPT A')));
  expect(forth).toBe(back);
  expect(forth).toContain(statement.trim());
  expect(forth).toContain(source.trim());
});

it.each([
  ['is too long for the server', new ContextTooLongError('32768 tokens'), 4],
  ['the server refuses', new ModelUnavailableError('400 no json_schema', { refused: true }), 2],
])('a summary that %s leaves the patch to speak alone', async (_what, error, calls) => {
  const steps = Array.from({ length: 12 }, () => ({
    thought: 'Hm.',
    action: 'cat',
    observation: 'x = 1\n'.repeat(400),
  }));
  const isSummary = ({ responseSchema }: CompletionRequest): boolean => responseSchema?.name === 'summary';
  const llm = new FakeLlmClient((request) => (isSummary(request) ? error : tagged('better', { A: 0.9, B: 0.1 })));
  const pool = ['c1', 'c2'].map((id) => candidate(id, { trajectory: { steps, exit_reason: 'agent' } }));
  const verdicts = await judged(createPairsVerifier, llm, pool, { summaries: true, promptTokens: 8_000 });
  const lengths = llm.requests.filter(isSummary).map(({ messages }) => messages[1]?.content.length ?? 0);
  expect(lengths).toHaveLength(calls);
  expect(Math.max(...lengths.slice(2), 0)).toBeLessThan(0.8 * Math.min(...lengths.slice(0, 2)));
  for (const id of ['c1', 'c2']) {
    expect(verdicts[id]).toMatchObject({ kind: 'scored', evidence: { summary: null, shown: [] } });
  }
});
