import { createInspector } from '../../../src/agent/rollout.js';
import { FORMAT_NAMES, type FormatName, AgentLimits } from '../../../src/core/run/agent.js';
import { InterruptedError } from '../../../src/core/errors/errors.js';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
import type { Inspection } from '../../../src/core/run/rollout.js';
import { GptTokenizer } from '../../../src/models/llm-clients.js';
import { MarkdownPromptLibrary } from '../../../src/models/prompts/prompt-library.js';
import type { CompletionRequest } from '../../../src/ports/llm-client.js';
import { ended, exited, FakeSandbox } from '../../fakes/fake-sandbox.js';
import { FakeLlmClient, type ScriptedCompletion } from '../../fakes/fake-llm-client.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { lackOfVerdict } from '../../../verifiers/index.js';
import { checkEach } from '../../fakes/suite-player.js';
import type { ExecOutcome } from '../../../src/ports/sandbox.js';
import { call } from '../../fixtures/agent-script.js';
import { calculatorIssue, RIGHT } from '../../fixtures/calculator.js';
import { runs, says, submits } from './rollout-world.js';

const { signal } = new AbortController();
const LOOK: Inspection = { patch: RIGHT, question: 'Does it add?', model: 'judge', max_steps: 5, sample: 0 };

const REFUSAL = 'error: calc.py: patch does not apply\n';

interface Played {
  readonly apply?: ExecOutcome;
  readonly applies?: () => boolean;
}

/** A container in which git does as it is told, and commands are noted. */
function world(
  { apply = exited(0), applies = () => true }: Played = {},
  format: FormatName = 'xml',
  lacking: (said: string) => string | null = () => null,
) {
  const done: string[] = [];
  const sandbox = new FakeSandbox((request, session) => {
    const { argv, stdin } = request;
    if (argv[2]?.includes('--check') === true) return checkEach(request, session, applies, REFUSAL);
    if (argv.includes('apply')) {
      done.push(stdin === RIGHT ? 'apply' : 'something else');
      return apply;
    }
    if (argv.length === 5) done.push(argv[4] ?? '');
    return exited(0, 'seen\n');
  });
  const results = new MemoryResultStore();
  const known: number[] = [];
  const requests: CompletionRequest[] = [];
  const look = async (answers: readonly ScriptedCompletion[], inspection = LOOK, onStep?: () => Promise<void>) => {
    const llm = new FakeLlmClient(answers);
    const ports = { sandbox, results, prompts: new MarkdownPromptLibrary(), tokenizer: new GptTokenizer(), llm };
    const limits = AgentLimits.parse({});
    const settingsOf = (model: string) => ({ model, endpoint: 'x', format, temperature: 1, limits, lacking }) as const;
    const inspect = createInspector(
      ports,
      settingsOf,
      async (_model, { input_tokens }) => void known.push(input_tokens),
    );
    try {
      return await inspect(calculatorIssue, inspection, signal, onStep);
    } finally {
      requests.push(...llm.requests);
    }
  };
  return { look, done, known, requests, sandbox };
}

it('ends with the step after which nobody wants it', async () => {
  const { look, requests } = world();
  const ends = (): Promise<void> => Promise.reject(new InterruptedError());
  await expect(look([runs('ls'), runs('ls'), submits], LOOK, ends)).rejects.toThrow(InterruptedError);
  expect(requests).toHaveLength(1);
});

it('puts the patch on base before anything runs, fences what is seen, and leaves no patch', async () => {
  const { look, done, requests } = world();
  const rollout = await look([runs('ls'), submits]);
  expect(done).toEqual(['apply', 'ls']);
  expect(rollout).toMatchObject({ exit_reason: 'agent', patch: '', patch_problem: null, model: 'judge' });
  const seen = requests[1]?.messages.at(-1)?.content ?? '';
  expect(seen).toMatch(
    /^=== OUTPUT 1 [0-9a-f]{16} ===\n[^]*seen\n[^]*=== END OUTPUT 1 [0-9a-f]{16} ===\nSteps Remaining: 4$/,
  );
  expect(requests[0]?.messages[1]).toEqual({ role: 'user', content: 'Does it add?' });
  expect(requests.map(({ purpose }) => purpose)).toEqual(['agent-judge', 'agent-judge']);
});

it('goes on behind its last step, in a fresh container with the patch and all that was done', async () => {
  const { look, done, requests, known } = world();
  await expect(look([runs('one'), new SandboxLostError('the process is killed here')])).rejects.toThrow(
    SandboxLostError,
  );
  const rollout = await look([runs('two'), submits]);
  expect(rollout.steps.map(({ action }) => /one|two|finish/.exec(action)?.[0])).toEqual(['one', 'two', 'finish']);
  expect(done).toEqual(['apply', 'one', 'apply', 'one', 'two']);
  expect(requests).toHaveLength(4);
  expect(known).toEqual([0, 100]);
  // The whole look is known now: nobody is asked again.
  expect((await look([])).steps).toHaveLength(3);
  expect(done).toHaveLength(5);
});

it.each(FORMAT_NAMES)('is told of a judge, not of who resolves issues: %s', async (format) => {
  const { look, requests } = world({}, format);
  await expect(look([new SandboxLostError('asked once')])).rejects.toThrow(SandboxLostError);
  const told = JSON.stringify([requests[0]?.messages, requests[0]?.tools]);
  expect(told).toMatch(/patch that somebody else wrote/);
  expect(told).toMatch(/verdict/);
  expect(told).not.toMatch(/change the source|your change|submits (?:the|your)|Ends the work|what was done/);
});

it('another patch, question, model or look is another one', async () => {
  const { look, requests } = world();
  for (const other of [{}, { patch: `${RIGHT}\n` }, { question: 'And now?' }, { model: 'other' }, { sample: 1 }]) {
    await look([submits], { ...LOOK, ...other });
  }
  expect(requests).toHaveLength(5);
});

it('tells a patch that git refuses from git that did not end, without asking the model', async () => {
  const refused = world({ apply: exited(1, '', REFUSAL), applies: () => false });
  const rollout = await refused.look([]);
  expect(rollout).toMatchObject({
    exit_reason: 'does_not_apply',
    patch_problem: 'error: calc.py: patch does not apply',
  });
  const late = world({ apply: ended('timed-out') });
  await expect(late.look([])).rejects.toThrow(SandboxLostError);
  expect(late.sandbox.openNow).toBe(0);
});

it('is told to say its verdict when its steps are used up, and ended soon after', async () => {
  const { look, requests } = world();
  const rollout = await look(Array.from({ length: 9 }, (_, n) => runs(`ls ${n}`)));
  expect(rollout).toMatchObject({ exit_reason: 'abs_step_limit', steps: { length: 8 } });
  expect(requests[5]?.messages.at(-1)?.content).toMatch(/Finish NOW; give your verdict/);
});

const verdict = (word: string): ScriptedCompletion =>
  says(call('finish', { command: 'submit', result: `<judgement>${word}</judgement>` }));

describe('a judge that ends its look without a verdict', () => {
  it('is told once, outside what is fenced, and its next words count', async () => {
    const { look, requests } = world({}, 'xml', lackOfVerdict);
    const rollout = await look([runs('ls'), submits, verdict('NO')]);
    expect(rollout).toMatchObject({ exit_reason: 'agent', steps: { length: 3 } });
    const told = requests[2]?.messages.at(-1)?.content ?? '';
    expect(told).toMatch(/your verdict is missing/);
    expect(told).not.toMatch(/=== OUTPUT/);
    expect(await world({}, 'xml', lackOfVerdict).look([submits, submits])).toMatchObject({
      exit_reason: 'agent',
      steps: { length: 2 },
    });
  });

  it('is not told where it has said it, nor at the last of its steps', async () => {
    expect((await world({}, 'xml', lackOfVerdict).look([verdict('YES')])).steps).toHaveLength(1);
    const late = Array.from({ length: 7 }, (_, n) => runs(`ls ${n}`));
    const rollout = await world({}, 'xml', lackOfVerdict).look([...late, submits]);
    expect(rollout).toMatchObject({ steps: { length: 8 } });
    expect(rollout.steps.at(-1)?.observation).not.toMatch(/missing/);
  });

  it('has said nothing with a verdict that it only considered', () => {
    expect(lackOfVerdict('<think>Perhaps <judgement>YES</judgement>?</think>Done.')).toMatch(/missing/);
    expect(lackOfVerdict('<think>Hm.</think><judgement>NO</judgement>')).toBeNull();
  });
});

it('takes no verdict from a call of finish that was cut off', async () => {
  const finishes = (text: string, finish_reason: string) =>
    says('', { finish_reason, tool_calls: [{ id: 'c', name: 'finish', arguments: JSON.stringify({ result: text }) }] });
  const { look, requests } = world({}, 'tools');
  const { steps } = await look([finishes('YES, or rather', 'length'), finishes('NO', 'tool_calls')]);
  expect(steps.map(({ action }) => /YES|NO/.exec(action)?.[0])).toEqual([undefined, 'NO']);
  expect(requests[1]?.messages.at(-1)?.content).toContain('was cut off');
});
