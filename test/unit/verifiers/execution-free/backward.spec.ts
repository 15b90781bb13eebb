import { ModelUnavailableError } from '../../../../src/core/errors/unavailable.js';
import { createBackwardVerifier } from '../../../../verifiers/execution-free/backward/backward.js';
import { FakeLlmClient, type ScriptedCompletion } from '../../../fakes/fake-llm-client.js';
import { candidate, judged, patchOf, plain, tagged } from './judge-world.js';

const told = plain('It makes a into b.');
const trajectory = {
  steps: [{ thought: 'The issue says so.', action: 'ls', observation: 'a.py' }],
  exit_reason: 'agent',
};
const attempt = candidate('c1', { trajectory });

async function judgement(answers: readonly ScriptedCompletion[], options = {}) {
  const llm = new FakeLlmClient(answers);
  const { c1 } = await judged(createBackwardVerifier, llm, [attempt], options);
  const prompts = llm.requests.map(({ messages }) => messages.map(({ content }) => content).join('\n'));
  return { c1, prompts, scored: llm.requests.map(({ topLogprobs }) => topLogprobs) };
}

it('asks which problem the patch solves without the issue, then compares', async () => {
  const { c1, prompts, scored } = await judgement([told, tagged('score', { A: 0.5, B: 0.3, C: 0.2 })]);
  expect(prompts).toHaveLength(2);
  // A thousand words with twenty alternatives each would be kept for nothing.
  expect(scored).toEqual([undefined, 20]);
  expect(prompts[0]).toContain(patchOf('c1').trimEnd());
  expect(prompts[0]).not.toMatch(/It fails|The issue says/);
  expect(prompts[1]).toMatch(/It fails\.[^]*It makes a into b\./);
  expect(prompts[1]).not.toMatch(/\+c1|The issue says/);
  expect(c1).toMatchObject({
    kind: 'scored',
    measure: 'ef:backward@judge',
    score: expect.closeTo(0.65, 6) as number,
    evidence: { method: 'backward', match: 'same', problem: 'It makes a into b.', model: 'judge' },
  });
});

it('shows neither tests nor scratch scripts, which tell the example of the issue', async () => {
  const added = (path: string): string =>
    `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+reproduce()\n`;
  const patch = `${added('reproduce_issue.py')}${patchOf('c1')}${added('tests/test_a.py')}`;
  const llm = new FakeLlmClient([told, plain('<score>A</score>')]);
  const { c1, c2 } = await judged(createBackwardVerifier, llm, [
    candidate('c1', { patch }),
    candidate('c2', { patch: added('reproduce_issue.py') }),
  ]);
  const [first] = llm.requests.map(({ messages }) => messages[0]?.content);
  expect(first).toContain('+c1');
  expect(first).not.toContain('reproduce');
  expect(c1).toMatchObject({ kind: 'scored' });
  expect(c2).toMatchObject({ kind: 'abstained', reason: 'no-source-change' });
});

it.each([
  ['a letter', plain('<score>B</score>'), { score: 0.5, evidence: { match: 'partial' } }],
  ['the last letter behind thoughts', plain('<think><score>A</score></think> <score>C</score>'), { score: 0 }],
  ['a thought that never ended', plain('<think><score>A</score>'), { reason: 'unreadable-answer' }],
  ['a letter that was not offered', plain('<score>D</score>'), { reason: 'unreadable-answer' }],
  ['hardly any letter', tagged('score', { A: 0.2, x: 0.8 }), { reason: 'unreadable-answer' }],
  ['no answer', new ModelUnavailableError('down'), { reason: 'model-unavailable' }],
] as const)('reads %s', async (_what, answer, expected) => {
  expect((await judgement([told, answer])).c1).toMatchObject(expected);
});

it('says nothing about a patch that nothing was said about', async () => {
  expect((await judgement([plain(' ')])).c1).toMatchObject({ kind: 'abstained', reason: 'unreadable-answer' });
  expect((await judgement([new ModelUnavailableError('down')])).c1).toMatchObject({ reason: 'model-unavailable' });
});
