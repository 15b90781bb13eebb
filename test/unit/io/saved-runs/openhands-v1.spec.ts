import { imported, SavedFolder } from './import-world.js';
import { CANARY, PATCH } from './saved-fixtures.js';

const text = (...parts: readonly string[]): unknown =>
  parts.map((part) => ({ type: 'text', text: part, cache_prompt: false }));
const AT = '2026-01-01T00:00:00.000000';

/** An action as the SDK writes it. */
function action(id: string, tool: string, asked: unknown, more: object = {}): Record<string, unknown> {
  return {
    id,
    timestamp: AT,
    source: 'agent',
    thought: text(`I use ${tool}.`),
    reasoning_content: null,
    thinking_blocks: [],
    action: asked,
    tool_name: tool,
    tool_call_id: `call-${id}`,
    tool_call: { id: `call-${id}`, name: tool, arguments: '{"command": "as called"}', origin: 'completion' },
    llm_response_id: 'r1',
    security_risk: 'LOW',
    critic_result: { score: 1, message: CANARY },
    kind: 'ActionEvent',
    ...more,
  };
}

function observation(of: string, seen: unknown, more: object = {}): Record<string, unknown> {
  const link = { tool_name: 'terminal', tool_call_id: `call-${of}`, action_id: of };
  return {
    id: `o-${of}`,
    timestamp: AT,
    source: 'environment',
    ...link,
    observation: seen,
    kind: 'ObservationEvent',
    ...more,
  };
}

const LS = { kind: 'TerminalAction', command: 'ls', is_input: false, timeout: null, reset: false };
const SEEN = { kind: 'TerminalObservation', content: text('calc.py'), is_error: false, command: 'ls', exit_code: 0 };
const SYSTEM = {
  id: 's',
  source: 'agent',
  system_prompt: { type: 'text', text: 'You are' },
  tools: [],
  kind: 'SystemPromptEvent',
};
const message = (source: string, said: string): Record<string, unknown> => {
  return { id: said, source, llm_message: { role: 'x', content: text(said) }, kind: 'MessageEvent' };
};

async function read(history: unknown, more: object = {}): Promise<Awaited<ReturnType<typeof imported>>> {
  const folder = new SavedFolder();
  const metadata = { llm: { model: 'qwen', api_key: 'sk-never' }, critic: { kind: 'PassCritic' } };
  const output = {
    instance_id: 'o__r-1',
    attempt: 1,
    test_result: { git_patch: PATCH },
    metadata,
    history,
    instance: null,
  };
  folder.json('run.jsonl', { ...output, metrics: { accumulated_cost: 0.25 }, error: null, ...more });
  return imported(folder.path);
}

interface Step {
  readonly thought: string;
  readonly action: string;
  readonly observation: string;
}

async function stepsOf(...history: readonly unknown[]): Promise<readonly Step[]> {
  const { trajectories, rejected } = await read(history);
  expect(rejected).toEqual([]);
  return (trajectories[0]?.trajectory as { steps: readonly Step[] } | undefined)?.steps ?? [];
}

describe('events of the OpenHands SDK', () => {
  it('are steps of thought, action and what was seen', async () => {
    const { candidates, trajectories, open } = await read([
      SYSTEM,
      message('user', 'Fix it.'),
      action('a', 'terminal', LS),
      observation('a', SEEN),
      action('f', 'finish', { kind: 'FinishAction', message: 'Done.' }, { thought: [] }),
    ]);
    expect(candidates).toMatchObject([
      { patch: PATCH, origin: { model: 'qwen', cost_usd: 0.25, exit_reason: 'finished' } },
    ]);
    expect(trajectories).toMatchObject([
      {
        trajectory: {
          steps: [
            { thought: 'I use terminal.', action: 'terminal command=ls', observation: 'calc.py' },
            { thought: '', action: 'finish message=Done.', observation: '' },
          ],
          exit_reason: 'finished',
        },
      },
    ]);
    expect(open).not.toContain(CANARY);
    expect(open).not.toContain('sk-never');
  });

  it('of parallel calls find their actions, by action or by call', async () => {
    const byCall = { ...observation('b', { ...SEEN, content: 'second' }), action_id: undefined };
    const steps = await stepsOf(
      action('a', 'terminal', LS),
      action('b', 'terminal', LS),
      byCall,
      observation('a', { ...SEEN, content: text('first', 'more') }),
    );
    expect(steps.map((step) => step.observation)).toEqual(['first\nmore', 'second']);
  });

  it.each([
    [
      'an edit',
      { kind: 'FileEditorAction', command: 'str_replace', path: '/a.py', old_str: 'a', new_str: 'b' },
      'tool command=str_replace\npath=/a.py\nold_str=a\nnew_str=b',
    ],
    ['a plan', { kind: 'TaskTrackerAction', task_list: [{ title: 'look' }] }, 'tool {"task_list":[{"title":"look"}]}'],
    ['a call that was not run', null, 'tool {"command": "as called"}'],
    ['text', 'odd', 'tool odd'],
  ])('show %s', async (_name, asked, shown) => {
    expect(await stepsOf(action('a', 'tool', asked))).toMatchObject([{ action: shown }]);
  });

  it.each([
    ['what the model reasoned', { reasoning_content: 'Hm.' }, 'Hm.\nI use terminal.'],
    [
      'what it thought',
      {
        thinking_blocks: [
          { type: 'thinking', thinking: 'Hm.' },
          { type: 'redacted_thinking', data: 'x' },
        ],
      },
      'Hm.\nI use terminal.',
    ],
    ['text', { thought: 'Plain.' }, 'Plain.'],
  ])('tell %s', async (_name, more, thought) => {
    expect(await stepsOf(action('a', 'terminal', LS, more))).toMatchObject([{ thought }]);
  });

  it.each([
    ['a failure', observation('a', { ...SEEN, exit_code: 2, is_error: true }), '[error]\ncalc.py\n[exit code 2]'],
    [
      'output of the first releases',
      observation('a', { kind: 'ExecuteBashObservation', output: 'calc.py' }),
      'calc.py',
    ],
    ['a rejection', observation('a', undefined, { kind: 'UserRejectObservation', rejection_reason: 'no' }), 'no'],
    [
      "an agent's error",
      { kind: 'AgentErrorEvent', source: 'agent', tool_call_id: 'call-a', error: 'no tool' },
      'no tool',
    ],
    [
      'the end of the conversation',
      { kind: 'ConversationErrorEvent', source: 'environment', detail: 'limit' },
      'limit',
    ],
    ['text', observation('a', 'odd'), 'odd'],
    ['nothing', observation('a', null), ''],
  ])('show %s as seen', async (_name, event, seen) => {
    expect(await stepsOf(action('a', 'terminal', LS), event)).toMatchObject([{ observation: seen }]);
  });

  it('of messages are steps when the agent speaks', async () => {
    expect(await stepsOf(message('user', 'Go.'), message('agent', 'Here.'))).toEqual([
      { thought: 'Here.', action: 'message', observation: '' },
    ]);
  });

  it("of unknown kinds tell their name when they are the agent's, and nothing else of them is kept", async () => {
    const steps = await stepsOf(
      { kind: 'OracleEvent', source: 'agent', verdict: CANARY, message: 'Looked it up.' },
      { kind: 'TokenEvent', source: 'agent', prompt_token_ids: [1] },
      { kind: 'ConversationStateUpdateEvent', source: 'environment', key: 'x', value: 1 },
      { kind: 7, source: ['agent'], action: [], observation: 7, thought: 7, tool_call: 'x' },
      {},
      observation('nowhere', SEEN),
    );
    expect(steps).toEqual([{ thought: 'Looked it up.', action: 'OracleEvent', observation: 'calc.py' }]);
  });

  it('beside those before the SDK are read each by its own form', async () => {
    const steps = await stepsOf(
      { id: 1, source: 'agent', action: 'run', args: { command: 'pwd', thought: 'Where?' }, message: '' },
      { id: 3, source: 'agent', action: 'run', args: { command: 'ls' }, message: '' },
      { id: 4, source: 'agent', observation: 'run', content: '/testbed', cause: 1 },
      action('a', 'terminal', LS),
      observation('a', SEEN),
    );
    expect(steps.map((step) => [step.action, step.observation])).toEqual([
      ['run command=pwd', '/testbed'],
      ['run command=ls', ''],
      ['terminal command=ls', 'calc.py'],
    ]);
  });
});
