import type { Candidate } from '../../../src/core/run/candidate.js';
import type { OpenedRun } from '../../../src/http/runs/evidence-of-run.js';
import { judgedIn, judgePromptOf } from '../../../src/http/runs/step-views.js';
import { JudgePrompts } from '../../../src/runs/run-dependencies.js';

class SamePrompt extends JudgePrompts {
  of() {
    return Promise.resolve({ messages: [{ role: 'user' as const, content: 'Right?' }], templateHash: 'h' });
  }
}

it.each([
  [{ prompt_hash: 'h', shown: ['source', 'trajectory', 'tests', 'flags'] }, true, ['source', 'tests']],
  [{ prompt_hash: 'another', shown: ['flags'] }, false, []],
  [{ shown: 'source' }, null, []],
])('tells what of %j it leaves out', async (evidence, same_template, left_out) => {
  const verdict = { kind: 'scored', candidate_id: 'c1', measure: 'execution_free', score: 1, out_of: 1, evidence };
  const opened = {
    run: { id: 'r' },
    request: { issue: { problem_statement: 'It fails.' } },
    candidates: [{ candidate_id: 'c1', patch: '', trajectory: null }],
    result: { verdicts: [verdict] },
  } as unknown as OpenedRun;
  const view = await judgePromptOf(judgedIn(opened, 'c1'), new SamePrompt());
  expect(view).toEqual({ messages: [{ role: 'user', content: 'Right?' }], same_template, left_out });
});

it.each([
  ['long', { patch: 'x'.repeat(3_000_000), trajectory: null }],
  [
    'has many steps',
    { patch: '', trajectory: { steps: Array(6_000).fill({ thought: '', action: '', observation: '' }) } },
  ],
])('refuses what is %s: others wait meanwhile', (_what, attempt) => {
  const opened = {
    run: { id: 'r' },
    request: { issue: { problem_statement: 'It fails.' } },
    candidates: [{ candidate_id: 'c1', ...attempt }],
    result: null,
  } as unknown as OpenedRun;
  expect(() => judgedIn(opened, 'c1')).toThrow('too large');
});

it('shows the prompt of the judge that is asked for, by the model that it asked', async () => {
  const verdicts = ['a', 'b'].map((model) => ({
    ...{ kind: 'scored', candidate_id: 'c1', measure: `ef:yes-no@${model}`, score: 1, out_of: 1 },
    evidence: { prompt_hash: `h-${model}`, shown: [], model },
  }));
  const opened = {
    run: { id: 'r' },
    request: { issue: { problem_statement: 'It fails.' } },
    candidates: [{ candidate_id: 'c1', patch: '', trajectory: null }],
    result: { verdicts },
  } as unknown as OpenedRun;
  class ByModel extends JudgePrompts {
    of(_problem: string, _candidate: Candidate, model: string | null) {
      return Promise.resolve({
        messages: [{ role: 'user' as const, content: `To ${model}` }],
        templateHash: `h-${model}`,
      });
    }
  }
  for (const [measure, model] of [
    [undefined, 'a'],
    ['ef:yes-no@a', 'a'],
    ['ef:yes-no@b', 'b'],
  ] as const) {
    const view = await judgePromptOf(judgedIn(opened, 'c1', measure), new ByModel());
    expect(view).toMatchObject({ messages: [{ content: `To ${model}` }], same_template: true });
  }
  expect(() => judgedIn(opened, 'c1', 'ef:rubric@a')).toThrow('No judge of the measure "ef:rubric@a"');
});
