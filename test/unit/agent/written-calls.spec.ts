import { readAction } from '../../../src/agent/tools/action.js';
import { inTags } from '../../../src/agent/call-formats/action-format.js';
import { ACTION_FORMATS } from '../../../src/agent/call-formats/formats.js';
import { findCall } from '../../../src/agent/call-formats/written-calls.js';
import type { Completion } from '../../../src/ports/llm-client.js';
import { WRITTEN_CASES } from '../../fixtures/written-calls.js';
import { says } from './rollout-world.js';

const { xml, tools, bash } = ACTION_FORMATS;
const answer = (text: string): Completion => says(text);

it.each(WRITTEN_CASES)('$name', ({ text, meant, told, more = false, format }) => {
  for (const name of format === undefined ? (['xml', 'tools'] as const) : [format]) {
    const turn = ACTION_FORMATS[name].read(answer(text));
    const read = turn.call === null ? { problem: turn.problem ?? '' } : readAction(turn.call);
    if (meant === null) {
      expect(read).toEqual({ problem: expect.stringMatching(told ?? /./) as string });
      continue;
    }
    const [tool, parameters] = meant;
    expect(read).toEqual(readAction({ name: tool, parameters }));
    expect(turn.more).toBe(more);
    // As trajectories have it, it is the same call.
    expect(readAction(findCall(turn.action)?.call ?? { name: '', parameters: {} })).toEqual(read);
  }
});

it('there are at least sixty, each once', () => {
  expect(new Set(WRITTEN_CASES.map(({ text, format }) => `${format ?? ''}${text}`)).size).toBe(WRITTEN_CASES.length);
  expect(WRITTEN_CASES.length).toBeGreaterThanOrEqual(60);
});

it('of any text are sought in linear time', () => {
  const many = 100_000;
  const hostile = [
    `{"name": "${'\\"'.repeat(many)}`,
    `[TOOL_CALLS]${'[{"'.repeat(many)}`,
    `[TOOL_CALLS]`.repeat(many),
    `<|channel|>${'to='.repeat(many)}`,
    `<|channel|> to=a `.repeat(many),
    `<|tool_call_begin|>`.repeat(many),
    `execute_bash(${'a="",'.repeat(many)}`,
    `execute_bash(command="""${'"'.repeat(many)}`,
    `<execute_bash>${'<a>'.repeat(many)}</execute_bash>`,
    `${'\n'.repeat(many)}[`,
    '```\n'.repeat(many),
    'Action: x\n'.repeat(many),
    `<function=execute_bash><parameter=command>${'<![CDATA['.repeat(many)}</parameter></function>`,
    `<function=f>{"a": "${'\\'.repeat(many)}`,
  ];
  const start = performance.now();
  for (const text of hostile) findCall(text);
  // Quadratic time would be minutes.
  expect(performance.now() - start).toBeLessThan(60_000);
});

it.each([
  ['function tags', '<function=file_editor><parameter=command>str_replace</parameter><parameter=old_str>x</parameter>'],
  ['keys and values', '<tool_call>execute_bash<arg_key>command</arg_key><arg_value>rm -r build/old'],
])(
  'a call without its end is none if the answer was cut off, and one if a stop sequence ended it: %s',
  (_name, text) => {
    for (const format of [xml, tools, bash]) {
      expect(format.read(says(text, { finish_reason: 'length' })).call).toBeNull();
      expect(format.read(answer(text)).call).not.toBeNull();
    }
  },
);

describe('thinking tags', () => {
  const command = (text: string): string => inTags({ name: 'execute_bash', parameters: { command: text } });
  const block = (text: string): string => `\`\`\`bash\n${text}\n\`\`\``;
  const json = (text: string): string =>
    `<tool_call>{"name": "execute_bash", "arguments": {"command": "${text}"}}</tool_call>`;
  const TAGS = ['grep -rn <think> src', 'grep -rn </think> src', 'grep -e <think> -e </think>', 'echo [/THINK]'];

  it.each(TAGS)('inside a call are data if the server separates the reasoning: %s', (text) => {
    for (const [format, written] of [
      [xml, command(text)],
      [tools, json(text)],
      [bash, block(text)],
    ] as const) {
      for (const before of [
        '',
        'The parser drops <think>.\n',
        '<think>\n\n</think>\n',
        `<think>${written}</think>\n`,
      ]) {
        const said = says(before + written, { reasoning: 'Where?' });
        expect(format.read(said).call?.parameters.command).toBe(format === bash ? `${text}\n` : text);
        expect(format.answered(said).content.endsWith(written)).toBe(true);
      }
    }
  });

  it.each(['<function=execute_bash><parameter=command>ls', command('ls'), '<function=finish>'])(
    'end the thought of a call that is not carried out: %s',
    (draft) => {
      const thought = `I could write ${draft} or not.</think>\n${command('pwd')}`;
      const ways = [says(`<think>${thought}`), says(thought), says(`<think>${thought}`, { reasoning: 'Which?' })];
      for (const said of ways) {
        expect(xml.read(said).call?.parameters).toEqual({ command: 'pwd' });
        expect(xml.answered(said).content).toBe(command('pwd'));
      }
    },
  );
});
