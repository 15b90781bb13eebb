import type { Verifier } from '../src/core/run/verifier.js';
import { createCellWorker } from './execution-based/cell-worker.js';
import { createExecutionBasedVerifier, type ExecutionBasedOptions } from './execution-based/execution-based.js';
import { harvestedTests } from './execution-based/generated/harvest.js';
import { createTestWriter } from './execution-based/generated/test-writer.js';
import type { JudgeOptions } from './execution-free/judge-options.js';
import { createAgentVerifier, type JudgeAgent } from './execution-free/agent/agent.js';
import { createPairsVerifier, createPairwiseVerifier } from './execution-free/pairs/pairwise.js';
import { createRubricVerifier } from './execution-free/pointwise/rubric.js';
import { judgePrompt, trainingConversation } from './execution-free/render/question.js';
import { createProgressJudge, createYesNoVerifier } from './execution-free/pointwise/yes-no.js';

export { createCellWorker, createProgressJudge, createTestWriter, harvestedTests, judgePrompt, trainingConversation };
export {
  NOTHING_RECORDED,
  readRecord,
  type RecordedTests,
  type RunRecord,
} from './execution-based/readers/run-record.js';
export { JUDGE_DEFAULTS, promptOfModel, SECTIONS, YES_NO_PROMPTS } from './execution-free/judge-options.js';
export type { Section, YesNoPrompt } from './execution-free/judge-options.js';
export { createSourceReader } from './source/read-sources.js';

export interface VerifierTools {
  readonly executionFree: JudgeOptions;
  readonly agent: JudgeAgent;
  readonly executionBased: ExecutionBasedOptions;
}

/** Every verifier, by its name on the wire. To add one: a factory in a folder beside, and a line here. */
export function createVerifiers({ executionFree, agent, executionBased }: VerifierTools) {
  const yesNo = createYesNoVerifier(executionFree);
  return {
    ef: yesNo,
    'ef:yes-no': yesNo,
    'ef:rubric': createRubricVerifier(executionFree),
    'ef:pairwise': createPairwiseVerifier(executionFree),
    'ef:pairs': createPairsVerifier(executionFree),
    'ef:agent': createAgentVerifier(executionFree, agent),
    eb: createExecutionBasedVerifier(executionBased),
  } satisfies Record<string, Verifier>;
}
