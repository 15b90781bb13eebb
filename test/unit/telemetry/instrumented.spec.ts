import { setTimeout as sleep } from 'node:timers/promises';
import { OpenAiLlmClient } from '../../../src/models/openai/client.js';
import { PrometheusMeter } from '../../../src/telemetry/prometheus-meter.js';
import {
  InstrumentedLlmClient,
  InstrumentedResultStore,
  InstrumentedSandbox,
} from '../../../src/telemetry/instrumented.js';
import {
  EngineUnavailableError,
  ModelUnavailableError,
  SandboxLostError,
} from '../../../src/core/errors/unavailable.js';
import { UNTRACED } from '../../../src/ports/telemetry.js';
import { resultStoreContract } from '../../contracts/result-store.contract.js';
import { completionRequest, judgementCompletion } from '../../fakes/completions.js';
import { FakeLlmClient } from '../../fakes/fake-llm-client.js';
import { ended, exited, FakeSandbox } from '../../fakes/fake-sandbox.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';

const { signal } = new AbortController();
const USAGE = { input_tokens: 1000, cached_input_tokens: 400, output_tokens: 10 };
let meter: PrometheusMeter;
beforeEach(() => {
  meter = new PrometheusMeter('0', false);
});

/** The samples of a metric, by their labels. */
async function samples(name: string): Promise<Record<string, number>> {
  const lines = (await meter.text())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return Object.fromEntries(
    lines.map((line) => {
      const [labels, value] = [line.slice(name.length, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' '))];
      return [labels, Number(value)];
    }),
  );
}

describe('model calls', () => {
  const prices = { judge: { input: 1, cached_input: 0.5, output: 10 } };

  it('come to tokens and money by model and role', async () => {
    const inner = new FakeLlmClient(() => ({ ...judgementCompletion(0.9), usage: USAGE }));
    const llm = new InstrumentedLlmClient(inner, {
      meter,
      tracer: UNTRACED,
      prices,
      serverOf: () => 'http://models/v1',
    });
    await llm.complete(completionRequest({ model: 'judge', purpose: 'judge' }), signal);
    await llm.complete(completionRequest({ model: 'free', purpose: 'agent' }), signal);
    const tokens = await samples('bestk_model_tokens_total');
    expect(tokens['{model="judge",role="judge",kind="input"}']).toBe(600);
    expect(tokens['{model="judge",role="judge",kind="cached"}']).toBe(400);
    expect(tokens['{model="judge",role="judge",kind="output"}']).toBe(10);
    expect(await samples('bestk_model_cost_usd_total')).toEqual({
      '{model="judge",role="judge"}': (600 * 1 + 400 * 0.5 + 10 * 10) / 1e6,
    });
    expect(await samples('bestk_model_calls_in_flight')).toEqual({ '{model="judge"}': 0, '{model="free"}': 0 });
  });

  it('that a recording answers are hits, and cost nobody anything', async () => {
    const inner = new FakeLlmClient(() => ({ ...judgementCompletion(0.9), usage: USAGE }));
    const llm = new InstrumentedLlmClient(inner, { meter, tracer: UNTRACED, prices, serverOf: () => null });
    await llm.complete(completionRequest({ model: 'judge', purpose: 'judge' }), signal);
    expect(await samples('bestk_replay_hits_total')).toEqual({ '{role="judge"}': 1 });
    expect(await samples('bestk_model_tokens_total')).toEqual({});
  });

  it('that fail are counted by what went wrong, and handed on', async () => {
    const inner = new FakeLlmClient([new ModelUnavailableError('down'), new TypeError('a bug')]);
    const llm = new InstrumentedLlmClient(inner, {
      meter,
      tracer: UNTRACED,
      prices,
      serverOf: () => 'http://models/v1',
    });
    const asked = completionRequest({ model: 'judge', purpose: 'judge' });
    await expect(llm.complete(asked, signal)).rejects.toThrow('down');
    await expect(llm.complete(asked, signal)).rejects.toThrow('a bug');
    await expect(llm.complete(asked, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    expect(await samples('bestk_model_calls_total')).toEqual({
      '{model="judge",role="judge",outcome="model-unavailable"}': 1,
      '{model="judge",role="judge",outcome="internal"}': 1,
      '{model="judge",role="judge",outcome="stopped"}': 1,
    });
  });

  it('tell of each attempt that is repeated', async () => {
    const reasons: string[] = [];
    const llm = new OpenAiLlmClient({
      baseUrl: 'http://127.0.0.1:9/v1',
      concurrency: 1,
      timeoutS: 5,
      maxRetries: 2,
      pause: () => Promise.resolve(),
      onRetry: (reason) => reasons.push(reason),
    });
    await expect(llm.complete(completionRequest(), signal)).rejects.toThrow(ModelUnavailableError);
    expect(reasons).toEqual(['no-answer', 'no-answer']);
  });
});

describe('containers', () => {
  const spec = { image: 'demo:1', workdir: '/testbed', baseCommit: null, purpose: 'verify sympy__sympy-24066' };
  const request = { argv: ['true'], deadlineS: 5 };

  it('are live until they are closed, and counted once', async () => {
    const sandbox = new InstrumentedSandbox(new FakeSandbox(() => exited(1)), { meter, tracer: UNTRACED });
    const session = await sandbox.open(spec, signal);
    expect(await samples('bestk_containers_live')).toEqual({ '{purpose="verify"}': 1 });
    await session.exec(request, signal);
    await sleep(20);
    await session.close();
    await session.close();
    expect(await samples('bestk_containers_live')).toEqual({ '{purpose="verify"}': 0 });
    expect(await samples('bestk_containers_created_total')).toEqual({ '{purpose="verify"}': 1 });
    expect(await samples('bestk_sandbox_commands_total')).toEqual({ '{outcome="exited"}': 1 });
    expect((await samples('bestk_sandbox_seconds_total'))['{purpose="verify"}']).toBeGreaterThan(0.015);
  });

  it('are gone after a time-out, which is a result, and after a loss, which is a failure', async () => {
    const inner = new FakeSandbox(({ argv }) => (argv[0] === 'slow' ? ended('timed-out') : exited(0)));
    inner.failOpen(1, new EngineUnavailableError('refused')).failExec(2, new SandboxLostError('removed'));
    const sandbox = new InstrumentedSandbox(inner, { meter, tracer: UNTRACED });
    await expect(sandbox.open(spec, signal)).rejects.toThrow('refused');
    await (await sandbox.open(spec, signal)).exec({ argv: ['slow'], deadlineS: 1 }, signal);
    await expect((await sandbox.open(spec, signal)).exec(request, signal)).rejects.toThrow('removed');
    expect(await samples('bestk_containers_live')).toEqual({ '{purpose="verify"}': 0 });
    expect(await samples('bestk_sandbox_failures_total')).toMatchObject({
      '{kind="engine-unavailable"}': 1,
      '{kind="sandbox-lost"}': 1,
    });
  });

  it('never put an id into a label', async () => {
    const sandbox = new InstrumentedSandbox(new FakeSandbox(() => exited(0)), { meter, tracer: UNTRACED });
    for (const purpose of ['verify a__b-1', 'something new 17', 'related tests']) {
      await (await sandbox.open({ ...spec, purpose }, signal)).close();
    }
    expect(Object.keys(await samples('bestk_containers_created_total'))).toEqual([
      '{purpose="verify"}',
      '{purpose="other"}',
      '{purpose="related-tests"}',
    ]);
  });
});

describe('stored results', () => {
  it('are hits or misses', async () => {
    const store = new InstrumentedResultStore(new MemoryResultStore(), meter);
    await store.get('k');
    await store.put('k', 'test', null);
    await store.get('k');
    expect(await samples('bestk_result_reads_total')).toEqual({ '{outcome="miss"}': 1, '{outcome="hit"}': 1 });
    expect(await samples('bestk_result_writes_total')).toEqual({ '{kind="test"}': 1 });
  });

  resultStoreContract(
    'watched',
    async () => new InstrumentedResultStore(new MemoryResultStore(), new PrometheusMeter('0', false)),
  );
});
