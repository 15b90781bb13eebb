import type { CompletionRequest } from '../../../../src/ports/llm-client.js';
import { createPairwiseVerifier } from '../../../../verifiers/execution-free/pairs/pairwise.js';
import { createRubricVerifier } from '../../../../verifiers/execution-free/pointwise/rubric.js';
import { createYesNoVerifier } from '../../../../verifiers/execution-free/pointwise/yes-no.js';
import { FakeLlmClient } from '../../../fakes/fake-llm-client.js';
import { savedRuns, savedRunsPresent } from '../../../fixtures/saved-runs.js';
import { judged, tagged, tokenizer } from './judge-world.js';

if (!savedRunsPresent) console.warn('SKIPPED: rendering of real trajectories needs ../shared/data/trajectories');

const CANARY = 'CANARY-7f3a';
/** Where the formats keep what tells the outcome. */
const SEALED = [
  'reward',
  'test_output',
  'gold_patch',
  'eval_logs',
  'verifier',
  'report',
  'FAIL_TO_PASS',
  'PASS_TO_PASS',
  'ds',
  'resolved',
];

function answer({ messages }: CompletionRequest): ReturnType<typeof tagged> {
  const text = messages[1]?.content ?? '';
  if (text.includes('<better>')) return tagged('better', { A: 0.6, B: 0.4 });
  return text.includes('Criterion:') ? tagged('score', { B: 1 }) : tagged('judgement', { YES: 0.6, NO: 0.4 });
}

(savedRunsPresent ? describe : describe.skip)('trajectories that other tools saved', () => {
  const runs = savedRunsPresent ? savedRuns(3) : [];

  it('are there, of every format', () => {
    expect([...new Set(runs.map(({ format }) => format))].toSorted()).toEqual([
      'atif',
      'mini-swe-agent',
      'openhands',
      'r2e-gym',
      'swe-agent',
    ]);
  });

  it.each(runs.map((run, index) => [`${run.format} ${index}`, run] as const))(
    '%s: every prompt is within its budget and holds nothing of the outcome',
    async (_name, { record, read }) => {
      const planted: Record<string, unknown> = { ...record };
      for (const key of SEALED) planted[key] = key === 'ds' ? { instance_id: 'x', patch: CANARY } : CANARY;
      planted.info = { ...(record.info as object | undefined), reward: CANARY, eval_logs: CANARY };
      planted.test_result = { ...(record.test_result as object | undefined), report: CANARY };
      const candidate = read(planted);
      const llm = new FakeLlmClient(answer);
      const other = { ...candidate, candidate_id: 'other', patch: `${candidate.patch}\n+x` };
      for (const make of [createYesNoVerifier, createRubricVerifier, createPairwiseVerifier]) {
        await judged(make, llm, [candidate, other], { promptTokens: 24_000 });
      }
      expect(llm.requests.length).toBeGreaterThan(5);
      for (const { messages } of llm.requests) {
        const text = messages.map(({ content }) => content).join('\n');
        expect(text).not.toContain(CANARY);
        expect(await tokenizer.count(text)).toBeLessThanOrEqual(24_000);
      }
    },
  );
});
