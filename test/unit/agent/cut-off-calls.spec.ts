import { ACTION_FORMATS } from '../../../src/agent/call-formats/formats.js';
import { chatAnswer } from '../../../src/agent/command/chat-requests.js';
import { ran, rolloutWorld, runs, says } from './rollout-world.js';

const { xml, tools, bash } = ACTION_FORMATS;
const called = (name: string, parameters: object | string, finish_reason = 'tool_calls') =>
  says('', {
    finish_reason,
    tool_calls: [
      { id: 'c', name, arguments: typeof parameters === 'string' ? parameters : JSON.stringify(parameters) },
    ],
  });
const command = (text: string, finish_reason?: string) => called('execute_bash', { command: text }, finish_reason);

describe('a call of an answer that was cut off', () => {
  it.each([
    ['a command that a parser closed', command('rm -rf calc', 'length')],
    ['half a file', called('file_editor', { command: 'create', path: '/a', file_text: 'def f(a' }, 'length')],
    ['half a JSON object', called('execute_bash', '{"command": "sed -i s/a', 'length')],
    ['a submission', called('finish', {}, 'length')],
    ["one that a service's filter ended", command('rm -rf calc', 'content_filter')],
    [
      'text in function tags',
      says('<function=execute_bash><parameter=command>rm -rf calc', { finish_reason: 'length' }),
    ],
    ['text in a block', says('```bash\nrm -rf calc\n```', { finish_reason: 'length' })],
  ])('is not carried out, costs a step, and the model is told: %s', async (_name, answer) => {
    const { run, requests, sandbox } = rolloutWorld({}, { settings: { format: 'tools' } });
    const made = await run([answer, command('ls'), called('finish', {})]);
    expect(made).toMatchObject({ exit_reason: 'agent', malformed: 1, steps: [{ action: '' }, {}, {}] });
    expect(ran(made.patch)).toEqual(['ls']);
    expect(sandbox.opens).toBe(1);
    const told = requests[1]?.messages.at(-1)?.content;
    expect(told).toMatch(/nothing was done\. .*Your answer was cut off because it was too long\./);
  });

  it('ends a rollout whose context it fills', async () => {
    const { run } = rolloutWorld({}, { settings: { format: 'tools' } });
    const made = await run([command('ls'), { ...command('rm -rf calc', 'length'), fills_context: true }]);
    expect(made).toMatchObject({ exit_reason: 'token_limit', steps: [{}, {}] });
    expect(ran(made.patch)).toEqual(['ls']);
  });

  it('is told a program as such', () => {
    const { text } = chatAnswer({ messages: [] }, command('rm -rf calc', 'length'), 'x');
    expect(text).toContain('"finish_reason":"length"');
    expect(chatAnswer({ messages: [] }, command('ls'), 'x').text).toContain('"finish_reason":"tool_calls"');
  });
});

describe('a whole call before the end of an answer that was cut off', () => {
  const cut = { finish_reason: 'length' };
  it.each([
    ['function tags', xml, `${runs('ls').text}\nThen I`],
    ['JSON in tags', tools, '<tool_call>{"name": "execute_bash", "arguments": {"command": "ls"}}</tool_call> Then'],
    ['a block', bash, '```bash\nls\n```\nThen'],
  ] as const)('is one: %s', (_name, format, text) => {
    expect(format.read(says(text, cut)).call?.parameters.command).toMatch(/^ls\n?$/);
  });

  it('is none where its end may begin another block', () => {
    const text = '```bash\ncat > README.md <<EOF\n```';
    expect(bash.read(says(text, cut)).call).toBeNull();
    expect(bash.read(says(text)).call).not.toBeNull();
  });
});
