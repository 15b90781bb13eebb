import { FORMAT_NAMES } from '../../../src/core/run/agent.js';
import { ACTION_FORMATS } from '../../../src/agent/call-formats/formats.js';
import { readAction } from '../../../src/agent/tools/action.js';
import { ran, rolloutWorld, says } from './rollout-world.js';

const DEPTH = 20_000;
const NESTED = '['.repeat(DEPTH) + ']'.repeat(DEPTH);
const MEMBERS = Array.from({ length: 50_000 }, (_, at) => `"k${at}":[]`).join(',');
const called = (name: string, parameters: string) =>
  says('', { finish_reason: 'tool_calls', tool_calls: [{ id: 'c', name, arguments: parameters }] });
const command = (text: string) => called('execute_bash', JSON.stringify({ command: text }));

describe('hostile calls do not end a rollout, and the model is told what is wrong:', () => {
  it.each([
    ['nested arguments', called('execute_bash', `{"command":${NESTED}}`)],
    ['nested arguments that do not end', called('execute_bash', `{"command":${'['.repeat(DEPTH)}`)],
    ['arguments that are an encoded list', called('execute_bash', JSON.stringify(NESTED))],
    ['many members', called('execute_bash', `{${MEMBERS}}`)],
    ['a prototype', called('execute_bash', '{"__proto__": {"command": "rm -rf /"}}')],
    ['the name of a prototype', called('__proto__', '{"command": "rm -rf /"}')],
    ['a long name', called('execute_bash'.repeat(100_000), '{"command": "rm -rf /"}')],
    ['nested JSON in tags', says(`<function=execute_bash>{"command":${NESTED}}</function>`)],
    ['nested JSON alone', says(`{"name": "execute_bash", "arguments": {"command":${NESTED}}}`)],
    ['a path out of the repository', called('file_editor', '{"command": "view", "path": "/testbed/../etc/shadow"}')],
    ['a path with a NUL', called('file_editor', '{"command": "create", "path": "/a\\u0000", "file_text": "x"}')],
    ['a command with a NUL', called('execute_bash', '{"command": "ls\\u0000"}')],
    ['a long command', command('x'.repeat(200_000))],
  ])('%s', async (_name, answer) => {
    const { run, requests, told } = rolloutWorld({}, { settings: { format: 'tools' } });
    const made = await run([answer, command('ls'), called('finish', '{}')]);
    expect(made).toMatchObject({ exit_reason: 'agent', steps: [{}, {}, {}] });
    expect(ran(made.patch)).toEqual(['ls']);
    expect(requests[1]?.messages.at(-1)?.content).toMatch(/nothing was done|invalid|no function|path|was not run/);
    expect(told[0]?.tool?.length ?? 0).toBeLessThanOrEqual(200);
  });

  it('thousands in one answer', async () => {
    const [call] = command('first').tool_calls;
    const others = command('second').tool_calls;
    const many = Array.from({ length: 5_000 }, () => others).flat();
    const { run, requests } = rolloutWorld({}, { settings: { format: 'tools' } });
    const answer = says('', { tool_calls: [...(call === undefined ? [] : [call]), ...many] });
    const made = await run([answer, called('finish', '{}')]);
    expect(ran(made.patch)).toEqual(['first']);
    expect(requests[1]?.messages.at(-2)?.tool_calls).toHaveLength(1);
  });
});

it.each(FORMAT_NAMES)('a Python call sets no prototype: %s', (name) => {
  const { call } = ACTION_FORMATS[name].read(says('execute_bash(__proto__=[1, 2], command="ls")'));
  expect(call === null ? null : readAction(call)).toEqual({ action: { tool: 'execute_bash', command: 'ls' } });
});

it('quotes and newlines of a command are one argument of the shell', async () => {
  const text = `'; rm -rf / #"$(id)\`id\`\n-c exit`;
  const { run, sandbox } = rolloutWorld({}, { settings: { format: 'tools' } });
  await run([command(text), called('finish', '{}')]);
  const holding = sandbox.requests.filter(({ argv }) => argv.some((each) => each.includes('rm -rf / #')));
  expect(holding.map(({ argv }) => argv.indexOf(text))).toEqual([4]);
});
