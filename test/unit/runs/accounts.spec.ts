import { z } from 'zod';
import { loadConfig } from '../../../src/app/config.js';
import { ConfiguredRunDependencies } from '../../../src/app/create-run-dependencies.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import type { Job, JobHandler } from '../../../src/jobs/jobs.js';
import { GptTokenizer } from '../../../src/models/llm-clients.js';
import { MarkdownPromptLibrary } from '../../../src/models/prompts/prompt-library.js';
import { UNTRACED } from '../../../src/ports/telemetry.js';
import { ModelUnavailableError } from '../../../src/core/errors/unavailable.js';
import { PipelineExecutor } from '../../../src/runs/execute-run.js';
import { PartHandlers } from '../../../src/runs/job-handlers.js';
import type { RunDependencies } from '../../../src/runs/run-dependencies.js';
import { RunSettings, RunWorker } from '../../../src/runs/run-worker.js';
import { dependenciesOf, type DependencyTools } from '../../../src/runs/spread-run.js';
import { FakeLlmClient } from '../../fakes/fake-llm-client.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { MemorySpendingStore } from '../../fakes/memory-spending-store.js';
import { Observing } from '../../fakes/observing.js';
import { call, finish } from '../../fixtures/agent-script.js';
import { calculatorIssue, candidate, RIGHT } from '../../fixtures/calculator.js';
import { logSandbox, runs as does, says } from '../agent/rollout-world.js';

const { signal } = new AbortController();
/** Of each model call. */
const COST = 110;
const VERDICT = '<judgement>YES</judgement>';
const JUDGED = says(`Done.\n${call('finish', { command: 'submit', result: VERDICT })}`);

const NONE = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 };
const NOTHING = { tokens: 0, usd: 0 };
const ALL = { tokens: 799_900, usd: 0 };

/**
 * A run whose processes come and go: each execution is alone, or has another process that does its parts.
 * @param usage what an agent's call counts instead
 * @param crowded something takes all of the budget from the first step of the first part to its end
 */
async function world({ crowded = false, judgeIsDown = false, usage = {}, settings: more = {} } = {}) {
  const runs = new MemoryRunStore();
  const request = RunRequest.parse({
    issue: calculatorIssue,
    k: 2,
    verifiers: [judgeIsDown ? 'ef' : 'ef:agent'],
    budget: { tokens: 1_000_000 },
  });
  const { run } = await runs.create('key', z.json().parse(request));
  const spendings = new MemorySpendingStore();
  const probe = spendings.of(run.id, 'probe');
  let isCrowded = crowded;
  const llm = new FakeLlmClient(({ messages, purpose }) => {
    if (isCrowded) void probe.take(ALL, { tokens: null, usd: null });
    if (judgeIsDown && purpose === 'judge') return new ModelUnavailableError('down');
    if (purpose !== 'agent') return messages.length === 2 ? does(`look at ${purpose}`) : JUDGED;
    const answer = messages.length === 2 ? does(`look at ${purpose}`) : says(`Done.\n${finish}`);
    return { ...answer, usage: { ...NONE, ...answer.usage, ...usage } };
  });
  const sandbox = logSandbox();
  const ports = { sandbox, llm, results: new MemoryResultStore(), spendings, tokenizer: new GptTokenizer() };
  const dependencies = new ConfiguredRunDependencies(
    loadConfig({ BESTK_AGENT_MODEL: 'agent', BESTK_VERIFIER_MODEL: 'judge', BESTK_TEST_HARVEST: '0', ...more }),
    {},
    { ...ports, prompts: new MarkdownPromptLibrary(), tracer: UNTRACED },
  );
  const settings = new RunSettings({ warn: () => undefined, error: () => undefined });
  const parts = { runs, sandbox, dependencies, settings, atOnce: { rollout: 1, call: 1, cells: 1 } };
  const handlers = new PartHandlers(parts).all();
  const done = new Map<string, unknown>();
  const have = async ({ kind, key, payload }: Job): Promise<unknown> => {
    const handler = handlers.find((each) => each.kind === kind) as JobHandler;
    done.set(
      key,
      done.get(key) ?? (await handler.perform(handler.payload.parse(payload), { key, signal, attempt: 1 })),
    );
    if (kind !== 'rollout') return done.get(key);
    if (isCrowded) await probe.settle(ALL, NOTHING);
    isCrowded = false;
    return done.get(key);
  };
  /** The run's dependencies in another process, which has as many `others`. */
  const execution = (others: number): RunDependencies => {
    const jobs = { others: () => Promise.resolve(others), have };
    const tools = { dependencies, sandbox, spread: { runs, jobs } } as unknown as DependencyTools;
    return dependenciesOf(tools, { id: run.id, request }, new Observing());
  };
  const rollout = (deps: RunDependencies, sample: number) => {
    const task = { issue: calculatorIssue, candidateId: `rollout-${sample + 1}`, sample, stopAt: null };
    return deps.sampler?.sample({ ...task, onStep: () => Promise.resolve() }, signal);
  };
  const judged = async (deps: RunDependencies) => {
    const [judge] = deps.verifiers(['ef:agent']);
    const verdicts = await judge?.verify(
      { issue: calculatorIssue, candidates: [candidate('c', RIGHT)], tests: [] },
      signal,
    );
    return verdicts?.[0];
  };
  const spent = () => probe.take(NOTHING, { tokens: -1, usd: null });
  /** The whole run, by a worker. */
  const ended = async () => {
    const executor = new PipelineExecutor({
      ...ports,
      prompts: new MarkdownPromptLibrary(),
      dependencies,
      version: '',
    });
    await new RunWorker({ store: runs, executor, settings, owner: 'test/1', isAlive: () => true }).work(run.id, signal);
    const { status, spent: known, failure } = (await runs.get(run.id)) ?? {};
    return { status, spent: known, failure };
  };
  return { llm, execution, rollout, judged, spent, ended };
}

it.each([
  ['loses the others', [1, 0]],
  ['is joined by others', [0, 1]],
  ['stays alone', [0, 0]],
  ['stays with others', [1, 1]],
])('a run that %s pays for its rollouts and inspections once', async (_, [before = 0, after = 0]) => {
  // The checks of a finished rollout are not repeated, but count.
  const checked = { settings: { BESTK_AGENT_CHECK_EVERY: '1' } };
  const { llm, execution, rollout, judged, spent } = await world(checked);
  const first = execution(before);
  await rollout(first, 0);
  expect(await judged(first)).toMatchObject({ kind: 'scored' });
  const paid = llm.requests.length * COST;
  expect(first.ledger.spent().tokens).toBe(paid);
  expect(await spent()).toMatchObject({ tokens: paid });
  const next = execution(after);
  expect(await rollout(next, 0)).toMatchObject({ exit_reason: 'agent' });
  expect(await judged(next)).toMatchObject({ kind: 'scored' });
  expect(next.ledger.spent().tokens).toBe(paid);
  expect(await spent()).toMatchObject({ tokens: paid });
  expect(llm.requests).toHaveLength(paid / COST);
});

it('a rollout that goes on here, after its part had no more room in the budget, is paid for once', async () => {
  const { llm, execution, rollout, judged, spent } = await world({ crowded: true });
  expect(await rollout(execution(1), 0)).toMatchObject({ exit_reason: 'agent' });
  const next = execution(0);
  await rollout(next, 0);
  await judged(next);
  expect(llm.requests).toHaveLength(6);
  expect(await spent()).toMatchObject({ tokens: 6 * COST });
  expect(next.ledger.spent().tokens).toBe(6 * COST);
});

it.each([0, 1])(
  'an inspection that a second wave asks for again counts once, with %i other processes',
  async (others) => {
    const { execution, judged } = await world();
    const deps = execution(others);
    const counted = (): object => structuredClone({ usage: deps.usage(), spent: deps.ledger.spent() });
    await judged(deps);
    const before = counted();
    expect(deps.ledger.spent().tokens).toBeGreaterThan(0);
    await judged(deps);
    expect(counted()).toEqual(before);
  },
);

it('a run that fails tells what it has paid for', async () => {
  const { llm, ended } = await world({ judgeIsDown: true });
  const { status, spent } = await ended();
  const paid = llm.requests.filter(({ purpose }) => purpose === 'agent').length * COST;
  expect(paid).toBeGreaterThan(0);
  expect({ status, spent }).toEqual({ status: 'failed', spent: { tokens: paid, usd: null } });
});

it.each([
  ['input_tokens', Number.MAX_SAFE_INTEGER],
  ['output_tokens', Number.MAX_SAFE_INTEGER],
  ['cached_input_tokens', 1e308],
  ['output_tokens', 0.1],
  ['input_tokens', Number.NaN],
])('a run whose %s come to %d has failed, with the reason, and is not done without an answer', async (name, count) => {
  const { ended } = await world({ usage: { [name]: count }, settings: { BESTK_VERIFIER_MODEL: 'judge' } });
  const { status, failure } = await ended();
  const message = expect.stringMatching(/cannot be stored: usage\./) as string;
  expect([status, failure]).toMatchObject(['failed', { code: 'unstorable-result', message }]);
});
