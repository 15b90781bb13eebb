import { loadConfig } from '../../../src/app/config.js';
import { ConfiguredRunDependencies } from '../../../src/app/run-dependencies.js';
import { runRequest } from '../../../src/core/run/run-request.js';
import type { RunResult } from '../../../src/core/run/run-result.js';
import { GptTokenizer } from '../../../src/models/llm-clients.js';
import { MarkdownPromptLibrary } from '../../../src/models/prompts/prompt-library.js';
import type { Completion, CompletionRequest } from '../../../src/ports/llm-client.js';
import type { Run } from '../../../src/ports/run-store.js';
import { UNTRACED } from '../../../src/ports/telemetry.js';
import { type Estimate, estimateAll } from '../../../src/runs/estimate.js';
import { PipelineExecutor } from '../../../src/runs/execute-run.js';
import { completionOf } from '../../fakes/completions.js';
import { FakeLlmClient } from '../../fakes/fake-llm-client.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { MemorySpendingStore } from '../../fakes/memory-spending-store.js';
import { call } from '../../fixtures/agent-script.js';
import { calcPatch, calculatorIssue, candidate } from '../../fixtures/calculator.js';
import { logSandbox, runs, says } from '../agent/rollout-world.js';

type Server = (request: CompletionRequest) => Completion;

const VERDICT = ['<judgement>', 'YES', '</judgement><score>', 'A', '</score><better>', 'A', '</better>'];
const SUMMARY = JSON.stringify({ hypotheses: '', decisions: '', progress: '', failures: '', outcome: '', files: [] });

/** Says what it is asked for; agents act four times. */
const ready: Server = ({ purpose, messages, head, responseSchema, sample }) => {
  const acted = messages.filter(({ role }) => role === 'assistant').length;
  if (head !== undefined) return says('', { outputs: [0.6] });
  if (responseSchema !== undefined) return says(SUMMARY);
  if (purpose === 'judge') {
    const tops: Readonly<Record<string, Record<string, number>>> = {
      YES: { YES: 0.6, NO: 0.4 },
      A: { A: 0.6, B: 0.4 },
    };
    return completionOf(VERDICT.map((token) => ({ token, ...(tops[token] && { top: tops[token] }) })));
  }
  if (acted < 4) return runs(`echo ${acted} of ${sample}`);
  return says(call('finish', { command: 'submit', result: '<judgement>YES</judgement>' }));
};

/** Thinks too long first, gives no log-probabilities, and never what it is asked for; agents never end. */
const stubborn: Server = ({ purpose, messages, maxTokens, sample, head }) => {
  // Of labels that add up to one by chance.
  if (head !== undefined)
    return says('', { outputs: messages[0]?.content.startsWith('Is this') ? labels(1 / 27) : labels(0.5) });
  if (purpose === 'agent' || purpose === 'agent-judge') return runs(`echo ${messages.length} of ${sample}`);
  return maxTokens < 16_384 ? says('', { finish_reason: 'length' }) : says('Who knows?');
};

const labels = (value: number): number[] => Array.from({ length: 27 }, () => value);

const SETTINGS = {
  BESTK_AGENT_MODEL: 'agent',
  BESTK_VERIFIER_MODEL: 'judge',
  BESTK_AGENT_MAX_STEPS: '6',
  BESTK_AGENT_MAX_STEPS_ABSOLUTE: '8',
};

async function compared(
  asked: object,
  settings: Readonly<Record<string, string>>,
  server: Server,
): Promise<{
  readonly estimate: Estimate;
  readonly made: number;
  readonly tokens: number;
  readonly second: number | undefined;
}> {
  const llm = new FakeLlmClient(server);
  const ports = {
    ...{ sandbox: logSandbox(), prompts: new MarkdownPromptLibrary(), llm, results: new MemoryResultStore() },
    ...{ spendings: new MemorySpendingStore(), tokenizer: new GptTokenizer(), tracer: UNTRACED },
  };
  const dependencies = new ConfiguredRunDependencies(loadConfig({ ...SETTINGS, ...settings }), {}, ports);
  const request = runRequest({ issue: calculatorIssue, ...asked });
  const estimate = await estimateAll([request], dependencies);
  const executor = new PipelineExecutor({ ...ports, dependencies, version: 'test' });
  const run = { id: 'run', request } as unknown as Run;
  const told = executor.execute(run, () => Promise.resolve(), new AbortController().signal);
  // A judge that answers for nobody ends the run, but not before it asked.
  const result = await told.catch((error: unknown) => {
    if (server === ready) throw error;
    return null;
  });
  const usage: RunResult['usage']['models'] = result?.usage.models ?? [];
  const of = (purpose: string): number =>
    usage.filter((each) => each.purpose === purpose).reduce((sum, each) => sum + each.calls + each.stored_answers, 0);
  const made =
    result === null ? llm.requests.length : usage.reduce((sum, each) => sum + each.calls + each.stored_answers, 0);
  const tokens = usage.reduce((sum, each) => sum + each.input_tokens + each.output_tokens, 0);
  return { estimate, made, tokens, second: result?.sampling?.refined?.sampled };
}

const patches = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    candidate(`c${n}`, calcPatch('def add(a, b):', `    return a + b + ${n % 10}`)),
  );
const recorded = patches(3).map((each) => ({
  ...each,
  trajectory: { steps: [{ thought: 'I look.', action: 'ls', observation: 'calc.py' }], exit_reason: null },
}));
const judging = (method: string, candidates: readonly object[] = recorded) => ({
  candidates,
  verifiers: [`ef:${method}`],
});
const sampling = (more: object) => ({ k: 3, verifiers: ['ef'], ...more });
const MIX = [
  { name: 'a', model: 'one', share: 2, limits: { max_steps: 3, max_steps_absolute: 5 } },
  { name: 'b', model: 'two' },
];

const CASES: readonly (readonly [what: string, asked: object, settings?: Readonly<Record<string, string>>])[] = [
  ['one judge', judging('yes-no')],
  ['several answers', judging('yes-no'), { BESTK_EF_SAMPLES: '3' }],
  ['a second opinion', judging('yes-no'), { BESTK_EF_OPTIONS: 'second-opinion' }],
  ['patches alone', judging('yes-no', patches(4)), { BESTK_EF_OPTIONS: 'think' }],
  ['a rubric', judging('rubric'), { BESTK_EF_SAMPLES: '2' }],
  ['a rubric of patches', judging('rubric', patches(3))],
  ['a tournament', judging('pairwise', patches(9))],
  ['a tournament of two', judging('pairwise', patches(2))],
  ['every pair', judging('pairs', patches(5))],
  ['every pair of the best of many', judging('pairs', patches(12))],
  ['pairs of summaries', judging('pairs'), { BESTK_EF_OPTIONS: 'summaries' }],
  ['what a patch solves', judging('backward')],
  ['a critic', judging('critic')],
  ['a judge with tools', judging('agent')],
  ['two judges', { candidates: recorded, verifiers: ['ef:yes-no', 'ef:rubric@other'] }],
  ['rollouts', sampling({})],
  ['rollouts in waves', sampling({ k: 6, k0: 2 })],
  ['rollouts that are looked at', sampling({}), { BESTK_AGENT_CHECK_EVERY: '2' }],
  ['a mix', sampling({ k: 5, agents: MIX })],
  ['a second wave', sampling({ refine: 2, refine_from: 0 }), { BESTK_AGENT_CHECK_EVERY: '3' }],
  ['a second wave of a mix, by pairs', sampling({ agents: MIX, refine: 2, refine_from: 0, verifiers: ['ef:pairs'] })],
];

describe.each(CASES)('the calls of %s', (what, asked, settings = {}) => {
  it.each([
    ['ready', ready],
    ['stubborn', stubborn],
  ])('lie within the range (%s)', async (_server, server) => {
    const { estimate, made, tokens, second } = await compared(asked, settings, server);
    const { at_least, likely, at_most } = estimate;
    expect(made).toBeGreaterThanOrEqual(at_least.model_calls);
    expect(made).toBeLessThanOrEqual(at_most.model_calls);
    expect(tokens).toBeLessThanOrEqual(at_most.tokens);
    expect(likely.model_calls).toBeGreaterThanOrEqual(at_least.model_calls);
    expect(likely.model_calls).toBeLessThanOrEqual(at_most.model_calls);
    if (what.includes('second wave')) expect(second).toBe(2);
  });
});
