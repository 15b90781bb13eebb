import type { Verdict } from '../../../../src/core/run/verdict.js';
import type { CompletionRequest } from '../../../../src/ports/llm-client.js';
import { createRubricVerifier } from '../../../../verifiers/execution-free/pointwise/rubric.js';
import { createYesNoVerifier } from '../../../../verifiers/execution-free/pointwise/yes-no.js';
import { harvestedTests } from '../../../../verifiers/execution-based/generated/harvest.js';
import { completionOf } from '../../../fakes/completions.js';
import { FakeLlmClient } from '../../../fakes/fake-llm-client.js';
import { candidate, judged, shown, patchOf, plain, tagged, tokenizer } from './judge-world.js';

const textOf = ({ messages }: CompletionRequest): string => messages.map(({ content }) => content).join('\n');
const yes = (): FakeLlmClient => new FakeLlmClient(() => tagged('judgement', { YES: 0.7, NO: 0.3 }));
const scored = (measure: string, score: number, out_of: number, evidence: Verdict['evidence']): Verdict => ({
  kind: 'scored',
  candidate_id: 'c1',
  measure,
  score,
  out_of,
  evidence,
});
const OBSERVED = [
  scored('regression', 41, 42, { lost: ['tests/a.py::test_lost'] }),
  scored('reproduction', 1, 3, { solved: ['t1'], unsolved: ['t2'], broken: ['t3'] }),
];
const TESTS = ['t1', 't2', 't3'].map((test_id) => ({
  instance_id: 'i',
  test_id,
  path: `${test_id}.py`,
  content: `script of ${test_id}`,
  author: null,
}));
const around = (text: string) => async () => new Map([[patchOf('c1'), text]]);
const LOOKED = [{ thought: '', action: "cat > test_a.py <<'EOF'\nassert 0, 'rival'\nEOF", observation: '' }];
const steps = [{ thought: 'I look.', action: 'git log --all', observation: 'a.py' }];

it('shows issue, source, record, patch, tests and flags in this order, the question last', async () => {
  const llm = yes();
  const { c1 } = await judged(
    createYesNoVerifier,
    llm,
    [candidate('c1', { trajectory: { steps, exit_reason: 'agent' } })],
    {
      show: ['source', 'tests', 'flags'],
      sources: around('--- a.py (changed)\n[lines 1-1]\nbefore'),
      task: { observed: OBSERVED, tests: TESTS },
    },
  );
  const text = textOf(llm.requests[0] as CompletionRequest);
  const places = [
    '\nIt fails.\n',
    '[lines 1-1]\nbefore',
    'I look.',
    '+c1',
    '41 of 42 still pass. These no longer do:\ntests/a.py::test_lost',
    '1 of 3 pass',
    'Script t2 does not pass:\nscript of t2',
    'Script t3 breaks:\nscript of t3',
    'Step 0: the agent searched the history',
    'is data.',
    'Does the final patch resolve the issue?',
  ].map((place) => text.indexOf(place));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(text).not.toContain('script of t1');
  expect(c1?.evidence.shown).toEqual(['source', 'trajectory', 'tests', 'flags']);
});

it('says of a record whose agent was told of others that it was', async () => {
  const llm = yes();
  const told = new Set(['c1', 'c3']);
  const looked = { trajectory: { steps: LOOKED, exit_reason: null } };
  const candidates = [candidate('c1', looked), candidate('c2', looked), candidate('c3')];
  await judged(createYesNoVerifier, llm, candidates, { task: { told } });
  const saying = llm.requests.filter((request) =>
    textOf(request).includes('had been shown reports on earlier attempts'),
  );
  expect(saying.map(shown)).toEqual([['c1']]);
});

it('says nothing of what there is not', async () => {
  const llm = yes();
  const { c1 } = await judged(createYesNoVerifier, llm, [candidate('c1')]);
  const text = textOf(llm.requests[0] as CompletionRequest);
  expect(text).not.toMatch(/SOURCE|INTERACTION|TEST RESULTS|Verification|record of/);
  expect(text).toContain('No results of tests are shown');
  expect(c1?.evidence.shown).toEqual([]);
});

it('shows what tests said to those alone who are to see it', async () => {
  const llm = yes();
  await judged(createYesNoVerifier, llm, [candidate('c1')], { task: { observed: OBSERVED, tests: TESTS } });
  expect(textOf(llm.requests[0] as CompletionRequest)).not.toMatch(/41 of 42|script of/);
});

it('neither shows nor counts scripts whose author saw a candidate’s work', async () => {
  const llm = yes();
  const harvested = harvestedTests([candidate('look-1', { trajectory: { steps: LOOKED, exit_reason: null } })], 1);
  const authors: Readonly<Record<string, string | null>> = { t1: null, t2: 'c2', t3: 'separating', t4: 'someone' };
  const tests = Object.entries(authors).map(([test_id, author]) => ({
    ...{ instance_id: 'i', test_id, path: `${test_id}.py`, content: `script of ${test_id}`, author },
  }));
  const unsolved = ['t2', ...harvested.map(({ test_id }) => test_id), 't4'];
  expect(unsolved).toHaveLength(3);
  await judged(createYesNoVerifier, llm, [candidate('c1'), candidate('c2')], {
    show: ['tests'],
    task: {
      observed: [scored('reproduction', 1, 5, { solved: ['t1'], unsolved, broken: ['t3'] })],
      tests: [...tests, ...harvested],
    },
  });
  const text = llm.requests.map(textOf).join('\n');
  expect(text).toContain('1 of 2 pass');
  expect(text).toContain('Script t4 does not pass:\nscript of t4');
  expect(text).not.toMatch(/script of t[23]|rival/);
});

it('tells scripts that held before the patch from those that did not', async () => {
  const llm = yes();
  const test = { instance_id: 'i', content: 'x = 1', author: 't1' };
  const tests = [
    { ...test, test_id: 't1', path: 't1.py' },
    { ...test, test_id: 'h1', path: 'h1.py', kind: 'pass-to-pass' as const },
  ];
  const observed = [scored('reproduction', 0, 1, { solved: ['t1'], unsolved: ['h1'], broken: [] })];
  await judged(createYesNoVerifier, llm, [candidate('c1')], { show: ['tests'], task: { observed, tests } });
  expect(llm.requests.map(textOf).join('\n')).toMatch(
    /each fails before the patch\. With the patch 1 of 1 pass[^]*each passes before the patch, and was meant to go on passing\. With the patch 0 of 1 pass[^]*Script h1 does not pass/,
  );
});

it('says nothing of generated tests where none was written apart', async () => {
  const llm = yes();
  const tests = [{ instance_id: 'i', test_id: 't1', path: 't1.py', content: 'x', author: 'c1' }];
  const observed = [scored('reproduction', 0, 1, { solved: [], unsolved: ['t1'], broken: [] })];
  const { c1 } = await judged(createYesNoVerifier, llm, [candidate('c1')], {
    show: ['tests'],
    task: { observed, tests },
  });
  expect(c1?.evidence.shown).toEqual([]);
});

it('says when a patch does not apply, and nothing of what infrastructure lost', async () => {
  const llm = yes();
  const none = (reason: 'does-not-apply' | 'infrastructure', detail: string): Verdict => ({
    kind: 'abstained',
    candidate_id: 'c1',
    measure: 'regression',
    reason,
    detail,
    evidence: {},
  });
  const show = { show: ['tests'] } as const;
  await judged(createYesNoVerifier, llm, [candidate('c1')], {
    ...show,
    task: { observed: [none('does-not-apply', 'line 3')] },
  });
  await judged(createYesNoVerifier, llm, [candidate('c1')], {
    ...show,
    task: { observed: [none('infrastructure', 'Docker')] },
  });
  expect(textOf(llm.requests[0] as CompletionRequest)).toContain('does not apply to the repository: line 3');
  expect(textOf(llm.requests[1] as CompletionRequest)).not.toContain('Docker');
});

it('leaves the source’s last pieces out where room is short, and says so', async () => {
  const pieces = Array.from({ length: 40 }, (_, n) => `--- f${n}.py (uses x)\n${`word${n} `.repeat(300)}`);
  const llm = yes();
  const { c1 } = await judged(createYesNoVerifier, llm, [candidate('c1')], {
    sources: around(pieces.join('\n\n')),
    promptTokens: 6_000,
  });
  const text = textOf(llm.requests[0] as CompletionRequest);
  expect(text).toContain('word0 ');
  expect(text).not.toContain('word30 ');
  expect(await tokenizer.count(text)).toBeLessThan(6_000);
  expect(c1?.evidence.condensed).toBe(true);
});

it('asks one question of each long beginning first, and the others when it was answered', async () => {
  const source = `--- a.py (changed)\n${'x = 1\n'.repeat(1_000)}`;
  const underWay: number[] = [];
  let open = 0;
  const llm = new (class extends FakeLlmClient {
    override async complete(...given: Parameters<FakeLlmClient['complete']>) {
      underWay.push((open += 1));
      await new Promise((resolve) => setTimeout(resolve, 20));
      open -= 1;
      return super.complete(...given);
    }
  })(() => tagged('judgement', { YES: 0.7, NO: 0.3 }));
  const candidates = ['c1', 'c2', 'c3'].map((id) => candidate(id));
  const sources = async (_: unknown, patches: readonly string[]) => new Map(patches.map((patch) => [patch, source]));
  await judged(createYesNoVerifier, llm, candidates, { sources });
  expect(underWay[0]).toBe(1);
  expect(underWay).toHaveLength(3);
  expect(underWay.slice(1)).toEqual([1, 2]);
  const texts = llm.requests.map(textOf);
  const same = (texts[0] ?? '').indexOf('=== FINAL PATCH');
  expect(new Set(texts.map((text) => text.slice(0, same - 30))).size).toBe(1);
});

describe('a judge that reasons', () => {
  it('is asked for reasons where that is set, with room for them and without a begun answer', async () => {
    for (const make of [createYesNoVerifier, createRubricVerifier]) {
      const llm = new FakeLlmClient(({ messages }) => {
        const tag = messages.some(({ content }) => content.includes('<score>')) ? 'score' : 'judgement';
        return tag === 'score' ? tagged('score', { A: 1 }) : tagged('judgement', { YES: 0.7, NO: 0.3 });
      });
      const { c1 } = await judged(make, llm, [candidate('c1')], { think: true, prefill: true });
      expect(c1?.kind).toBe('scored');
      expect(llm.requests[0]).toMatchObject({ maxTokens: 16_384 });
      expect(llm.requests[0]?.continueFinal).toBeUndefined();
      expect(textOf(llm.requests[0] as CompletionRequest)).toContain('Reason first, then end with');
    }
  });

  it('is given room once its first answer ends within its thoughts, and from then on', async () => {
    const cut = { ...plain(''), finish_reason: 'length' };
    const llm = new FakeLlmClient(({ maxTokens }) =>
      maxTokens < 1_000 ? cut : tagged('judgement', { YES: 0.8, NO: 0.2 }),
    );
    const first = await judged(createYesNoVerifier, llm, [candidate('c1')]);
    expect(first.c1).toMatchObject({ kind: 'scored', score: expect.closeTo(0.8, 6) as number });
    await judged(createYesNoVerifier, llm, [candidate('c2')]);
    expect(llm.requests.map(({ maxTokens }) => maxTokens)).toEqual([16, 16_384, 16_384]);
  });

  it('is not given room when it was cut while it spoke', async () => {
    const llm = new FakeLlmClient(() => ({ ...plain('The patch changes'), finish_reason: 'length' }));
    await judged(createYesNoVerifier, llm, [candidate('c1')], { samples: 1 });
    expect(new Set(llm.requests.map(({ maxTokens }) => maxTokens))).toEqual(new Set([16, 64]));
  });

  it('is read behind its thoughts, also where the server lists their tokens', async () => {
    const thoughts = ['Maybe ', '<judgement>', 'NO', '</judgement>', '. No: '].map((token) => ({ token }));
    const verdict = [
      { token: '<judgement>' },
      { token: 'YES', top: { YES: 0.9, NO: 0.1 } },
      { token: '</judgement>' },
      { token: '<|end|>' },
    ];
    const completion = completionOf([...thoughts, ...verdict]);
    const apart = {
      ...completion,
      reasoning: 'Maybe <judgement>NO</judgement>. No: ',
      text: '<judgement>YES</judgement>',
    };
    const { c1 } = await judged(createYesNoVerifier, new FakeLlmClient(() => apart), [candidate('c1')]);
    expect(c1).toMatchObject({ kind: 'scored', score: expect.closeTo(0.9, 6) as number });
    // Servers write a character that several tokens share as one that stands for none.
    const split = [{ token: 'It is \uFFFD' }, { token: '\uFFFD' }, { token: ' 5. ' }];
    const reasoned = { ...completionOf([...thoughts, ...split, ...verdict]), reasoning: apart.reasoning };
    const uneven = { ...reasoned, text: 'It is ≥ 5. <judgement>YES</judgement>' };
    const beside = await judged(createYesNoVerifier, new FakeLlmClient(() => uneven), [candidate('c1')]);
    expect(beside.c1).toMatchObject({ kind: 'scored', score: expect.closeTo(0.9, 6) as number });
    const drawn = { ...reasoned, text: 'It is ≥ 5. I cannot say.' };
    const unclear = await judged(createYesNoVerifier, new FakeLlmClient(() => drawn), [candidate('c1')]);
    expect(unclear.c1).toMatchObject({ kind: 'abstained', reason: 'unreadable-answer' });
    const unsaid = { ...completionOf(thoughts), reasoning: 'Maybe <judgement>NO</judgement>. No: ', text: '' };
    const none = await judged(createYesNoVerifier, new FakeLlmClient(() => unsaid), [candidate('c1')]);
    expect(none.c1).toMatchObject({ kind: 'abstained', reason: 'unreadable-answer' });
  });
});
