import { z } from 'zod';
import type { CompletionRequest } from '../../../src/ports/llm-client.js';
import type { SampleTask } from '../../../src/agent/rollout.js';
import { InterruptedError } from '../../../src/core/errors/errors.js';
import type { Inspect, Inspection } from '../../../src/core/run/rollout.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import type { Jobs } from '../../../src/jobs/jobs.js';
import { accountOf, PartHandlers, type PartTools, RolloutPart } from '../../../src/runs/job-handlers.js';
import type { Accounted, Elsewhere, RunDependencies, RunWork } from '../../../src/runs/run-dependencies.js';
import { RunSettings } from '../../../src/runs/run-worker.js';
import { dependenciesOf, type DependencyTools } from '../../../src/runs/spread-run.js';
import { FakeSandbox, exited } from '../../fakes/fake-sandbox.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { Observing } from '../../fakes/observing.js';
import { calculatorIssue, candidate, RIGHT } from '../../fixtures/calculator.js';

const LOOK: Inspection = { patch: RIGHT, question: '?', model: 'judge', max_steps: 5, sample: 1 };
const DONE: Accounted = { usage: [], spent: { tokens: 7, usd: null } };
/** What the head of a critic gave. */
const SAID = { text: '', finish_reason: 'stop', logprobs: null, usage: null, model: 'critic', outputs: [0.8] };
const request = RunRequest.parse({ issue: calculatorIssue, candidates: [candidate('right', RIGHT)] });
const { signal } = new AbortController();

/** What a run asks others for, while there are `others`. What they did is read here, under the account of the part. */
function asking(others: number) {
  const asked: Parameters<Jobs['have']>[0][] = [];
  const [accounts, absorbed]: [string[], Accounted[]] = [[], []];
  let elsewhere: Elsewhere | undefined;
  const tools = {
    dependencies: {
      create: (_observe: unknown, { part }: RunWork, given?: Elsewhere) => {
        elsewhere = given ?? elsewhere;
        accounts.push(part);
        return {
          sampler: { sample: () => Promise.resolve({}) },
          inspect: () => Promise.resolve('looked'),
          absorb: (used: Accounted) => absorbed.push(used),
          usage: () => [],
          ledger: { spent: () => ({ tokens: 9, usd: null }), chargeRest: () => Promise.resolve() },
        };
      },
    },
    sandbox: new FakeSandbox(() => exited(0)),
    spread: {
      runs: { siblings: () => Promise.resolve(1) },
      jobs: {
        others: () => Promise.resolve(others),
        have: (job: Parameters<Jobs['have']>[0]) => {
          asked.push(job);
          return Promise.resolve(job.kind === 'call' ? SAID : DONE);
        },
      },
    },
  } as unknown as DependencyTools;
  const { sampler } = dependenciesOf(tools, { id: 'run', request }, new Observing());
  const inspect = (look: Inspection) => elsewhere?.inspect?.(calculatorIssue, look, signal);
  return { asked, sampler, inspect, call: elsewhere?.call, accounts, absorbed };
}

it('a try of a second wave is made elsewhere with what it is told of the first', async () => {
  const { asked, sampler } = asking(2);
  const earlier = { told_of: ['rollout-1'], attempts: [{ summary: 's', tests: '', patch: RIGHT }], fence: 'f' };
  const task = { issue: calculatorIssue, candidateId: 'rollout-9', sample: 8, stopAt: null } as unknown as SampleTask;
  await sampler?.sample(task, signal);
  await sampler?.sample({ ...task, earlier }, signal);
  const [first, second] = asked;
  expect(RolloutPart.parse(first?.payload).earlier).toBeUndefined();
  expect(RolloutPart.parse(second?.payload)).toMatchObject({ candidate_id: 'rollout-9', sample: 8, earlier });
  expect(first?.key).not.toBe(second?.key);
});

it('a look is done by whichever process has room, while there are others', async () => {
  const alone = asking(0);
  expect(await alone.inspect(LOOK)).toBe('looked');
  expect(alone.asked).toEqual([]);
  expect(alone.absorbed.map(({ spent }) => spent.tokens)).toEqual([9]);
  const { asked, inspect, accounts, absorbed } = asking(2);
  expect(await inspect(LOOK)).toBe('looked');
  expect(absorbed.map(({ spent }) => spent.tokens)).toEqual([7, 2]);
  await inspect(LOOK);
  await inspect({ ...LOOK, sample: 2 });
  expect(accounts.slice(0, 2)).toEqual(alone.accounts);
  expect(new Set(accounts).size).toBe(3);
  const [first, again, other] = asked;
  expect(first).toMatchObject({ kind: 'rollout', turn: { line: 'run' } });
  expect(RolloutPart.parse(first?.payload)).toMatchObject({ run_id: 'run', sample: 1, inspection: LOOK });
  expect([again?.key === first?.key, other?.key === first?.key]).toEqual([true, false]);
});

it('a judge’s question is asked by whichever process has room, and a critic’s numbers come back', async () => {
  const message = { role: 'user', content: '?' } as const;
  const question = {
    model: 'critic',
    messages: [message],
    head: 'classify',
    maxTokens: 1,
    sample: 0,
    purpose: 'judge',
  };
  const alone = asking(0);
  expect(await alone.call?.('key', { ...question, temperature: 0 } as CompletionRequest, signal)).toBeNull();
  const { asked, call } = asking(2);
  expect(await call?.('key', { ...question, temperature: 0 } as CompletionRequest, signal)).toMatchObject({
    outputs: [0.8],
  });
  expect(asked).toMatchObject([
    { kind: 'call', key: 'key', payload: { run_id: 'run', label: 'judge', request: question } },
  ]);
});

it('a process does the look of another’s run, where it has the image, and accounts for it', async () => {
  const runs = new MemoryRunStore();
  const { run } = await runs.create('key', z.json().parse(request));
  const sandbox = new FakeSandbox(() => exited(0));
  const looked: unknown[] = [];
  const works: RunWork[] = [];
  const deps = {
    inspect: (...[issue, look, , onStep]: Parameters<Inspect>) => {
      looked.push([issue, look]);
      return onStep?.();
    },
    usage: () => DONE.usage,
    ledger: { spent: () => DONE.spent },
  } as unknown as RunDependencies;
  const tools = {
    ...{ runs, sandbox, atOnce: { rollout: 1, call: 1, cells: 1 } },
    settings: new RunSettings({ warn: () => undefined, error: () => undefined }),
    dependencies: {
      create: (_observe: unknown, work: RunWork) => {
        works.push(work);
        return deps;
      },
    },
  } as unknown as PartTools;
  const handler = new PartHandlers(tools).all().find(({ kind }) => kind === 'rollout');
  const { id: image_id } = await sandbox.describeImage(calculatorIssue.environment.image, signal);
  const part = { run_id: run.id, label: 'x', image_id, candidate_id: 'judge 2', sample: 1, inspection: LOOK };
  const work = { key: 'k', signal, attempt: 1 };
  expect(await handler?.perform(RolloutPart.parse(part), work)).toEqual(DONE);
  expect(looked).toEqual([[calculatorIssue, LOOK]]);
  expect(works.at(-1)).toMatchObject({ runId: run.id, part: accountOf(RolloutPart.parse(part)), tries: 1 });
  const told = await runs.events(run.id, 0, 10);
  expect(told.slice(1)).toMatchObject([{ type: 'part', data: { kind: 'verdict', attempts: 1 } }]);
  await expect(handler?.perform({ ...part, image_id: 'another' }, work)).rejects.toThrow();
  expect(looked).toHaveLength(1);

  // Cancelled while it is under way, it ends with its next step.
  const describe = sandbox.describeImage.bind(sandbox);
  sandbox.describeImage = async (...args) => {
    await runs.update(run.id, { status: 'cancelled' });
    return describe(...args);
  };
  await expect(handler?.perform(RolloutPart.parse(part), work)).rejects.toThrow(InterruptedError);
  expect(looked).toHaveLength(2);
});
