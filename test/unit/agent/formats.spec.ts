import fc from 'fast-check';
import { inTags } from '../../../src/agent/call-formats/action-format.js';
import { readAction } from '../../../src/agent/tools/action.js';
import { ACTION_FORMATS } from '../../../src/agent/call-formats/formats.js';
import { findCall } from '../../../src/agent/call-formats/written-calls.js';
import { toolSpecs } from '../../../src/agent/tools/tool-specs.js';
import type { Completion } from '../../../src/ports/llm-client.js';

const { xml, tools, bash } = ACTION_FORMATS;

function completion(text: string, more: Partial<Completion> = {}): Completion {
  return {
    text,
    reasoning: '',
    tool_calls: [],
    logprobs: null,
    finish_reason: 'stop',
    usage: null,
    model: 'm',
    ...more,
  };
}
const callOf = (text: string): unknown => xml.read(completion(text)).call;

describe('function tags', () => {
  it('are read with what stands before them as thought', () => {
    const turn = xml.read(
      completion('I look.\n\n<function=search>\n  <parameter=search_term>def f</parameter>\n</function>'),
    );
    expect(turn).toMatchObject({ thought: 'I look.', problem: null, more: false });
    expect(turn.call).toEqual({ name: 'search', parameters: { search_term: 'def f' } });
    expect(turn.action).toMatch(/^<function=search>[^]*<\/function>$/);
  });

  it('keep the blanks of a value, but not the line ends that set it on lines of its own', () => {
    const text = [
      '<function=file_editor><parameter=command>str_replace</parameter><parameter=old_str>',
      '    two  blanks  ',
      '</parameter><parameter=new_str>  x </parameter><parameter=file_text>',
      'last line',
      '</parameter></function>',
    ].join('\n');
    expect(callOf(text)).toMatchObject({
      parameters: { old_str: '    two  blanks  ', new_str: '  x ', file_text: 'last line\n' },
    });
  });

  it('may hold tags of their own kind in code', () => {
    const code = 'text = "</parameter>"\nmore = "</function>"\nopen = "<parameter=x>"\n';
    const text = `<function=file_editor><parameter=command>create</parameter><parameter=file_text>\n${code}</parameter></function>`;
    expect(callOf(text)).toMatchObject({ parameters: { file_text: code } });
  });

  it('count when a stop sequence or the end of the answer cuts the last one off', () => {
    expect(callOf('<function=finish><parameter=command>submit</parameter>\n')).toMatchObject({ name: 'finish' });
    expect(callOf('<function=finish><parameter=command>sub')).toBeNull();
  });

  it('are taken once: the first of two', () => {
    const two = `${inTags({ name: 'finish', parameters: { command: 'submit' } })}\n<function=search></function>`;
    expect(xml.read(completion(two))).toMatchObject({ call: { name: 'finish' }, more: true });
    expect(xml.read(completion(two)).action).not.toContain('search');
  });

  it.each([
    ['no call', 'I think the bug is in x.py.'],
    ['an empty answer', ''],
    ['a call inside a thought alone', '<think><function=finish></function></think>I am not done.'],
    ['a header that never ends', '<function=search <parameter=x>y</parameter></function>'.replaceAll('>', '')],
    ['garbage between parameters', '<function=search>hm<parameter=search_term>x</parameter></function>'],
  ])('are not seen in %s, and the model is told what to write', (_name, text) => {
    expect(xml.read(completion(text))).toMatchObject({
      call: null,
      problem: expect.stringContaining('<function=') as string,
    });
  });

  it('are read whatever a parameter holds', () => {
    const value = fc.string({ unit: 'grapheme' }).filter((text) => !text.startsWith('\n'));
    fc.assert(
      fc.property(value, value, (path, text) => {
        const call = { name: 'file_editor', parameters: { command: 'create', path, file_text: text } };
        const closes = [path, text].some((each) => /<\/parameter>\s*(<\/function>|<parameter=|$)/.test(each));
        fc.pre(!closes);
        expect(findCall(inTags(call))?.call).toEqual(call);
      }),
    );
  });

  it('are found in linear time', () => {
    const hostile = [
      '<function=search>'.repeat(50_000),
      `<function=x><parameter=path>${'</parameter> '.repeat(50_000)}`,
      `<function=x>${'<parameter=path>'.repeat(50_000)}`,
      `<function=x><parameter=command>${'</parameter>\n\n\n'.repeat(60_000)}</parameter></function>`,
      `<function=x><parameter=command>${'\n<parameter=x>'.repeat(60_000)}</function>`,
      `<function=x>${'\n<parameter=path></parameter> a'.repeat(30_000)}</function>`,
      `<tool_call>{"a": "${'</tool_call>'.repeat(60_000)}`,
      `<tool_call>x${'<arg_key>a</arg_key>\n\n'.repeat(40_000)}`,
      '<tool_call>'.repeat(80_000),
    ];
    const start = performance.now();
    for (const text of hostile) findCall(text);
    // Quadratic time would be minutes.
    expect(performance.now() - start).toBeLessThan(60_000);
  });

  it('are refused in a call of more than a million characters', () => {
    const huge = inTags({ name: 'execute_bash', parameters: { command: 'x'.repeat(1_000_001) } });
    expect(xml.read(completion(huge)).call).toBeNull();
  });

  it('are refused in a call of more than a hundred parameters', () => {
    const call = (count: number): string => `<function=x>${'\n<parameter=path>a'.repeat(count)}</function>`;
    expect(callOf(call(100))).not.toBeNull();
    expect(callOf(call(101))).toBeNull();
  });
});

/** How models write a call that were not trained in function tags, or whose server has no tool parser. */
const VIEW = { name: 'file_editor', parameters: { command: 'view', path: '/testbed/a.py' } };
const JSON_CALL = '{"name": "file_editor", "arguments": {"command": "view", "path": "/testbed/a.py"}}';
const MEANT: readonly (readonly [string, string])[] = [
  ['prose behind the call', `${inTags(VIEW)}\n\nThis shows the file.`],
  ['a fence around the call', `\`\`\`xml\n${inTags(VIEW)}\n\`\`\``],
  [
    'quoted names',
    '<function="file_editor"><parameter="command">view</parameter><parameter="path">/testbed/a.py</parameter></function>',
  ],
  [
    'name attributes',
    '<function name="file_editor"><parameter name="command">view</parameter><parameter name="path" string="true">/testbed/a.py</parameter></function>',
  ],
  [
    'invocations',
    '<function_calls>\n<invoke name="file_editor">\n<parameter name="command">view</parameter>\n<parameter name="path">/testbed/a.py</parameter>\n</invoke>\n</function_calls>',
  ],
  ['JSON in function tags', '<function=file_editor>{"command": "view", "path": "/testbed/a.py"}</function>'],
  ['JSON in function tags, never closed', '<function=file_editor>\n{"command": "view", "path": "/testbed/a.py"}\n'],
  ['JSON in tool_call', `<tool_call>\n${JSON_CALL}\n</tool_call>`],
  ['JSON in tool_call, never closed', `<tool_call>${JSON_CALL}`],
  [
    'arguments as a JSON text',
    `<tool_call>{"name": "file_editor", "arguments": ${JSON.stringify(JSON.stringify(VIEW.parameters))}}</tool_call>`,
  ],
  ['parameters for arguments', `<tool_call>${JSON_CALL.replace('arguments', 'parameters')}</tool_call>`],
  ['function tags in tool_call', `<tool_call>\n${inTags(VIEW)}\n</tool_call>`],
  [
    'keys and values in tool_call',
    '<tool_call>file_editor\n<arg_key>command</arg_key>\n<arg_value>view</arg_value>\n<arg_key>path</arg_key>\n<arg_value>/testbed/a.py</arg_value>\n</tool_call>',
  ],
  [
    'a last parameter without its end',
    '<function=file_editor><parameter=command>view</parameter><parameter=path>/testbed/a.py</function>',
  ],
  [
    'parameters without their ends',
    '<function=file_editor>\n<parameter=command>\nview\n<parameter=path>\n/testbed/a.py\n</function>',
  ],
  [
    'no end of the function',
    '<function=file_editor><parameter=command>view</parameter><parameter=path>/testbed/a.py</parameter>',
  ],
];

describe('calls as real models write them', () => {
  it.each(MEANT)('are read where they are meant: %s', (_name, written) => {
    const said = completion(`I look at it.\n${written}`);
    for (const format of [xml, tools]) {
      const turn = format.read(said);
      expect(turn).toMatchObject({ call: VIEW, problem: null, more: false });
      expect(turn.thought).toMatch(/^I look at it\./);
      expect(findCall(turn.action)?.call).toEqual(VIEW);
      expect(format.answered(said)).toEqual({ role: 'assistant', content: said.text.trim() });
    }
  });

  it.each(MEANT.filter(([name]) => !/never closed|no end|last parameter without/.test(name)))(
    'are taken once: the first of two (%s)',
    (_name, written) => {
      expect(xml.read(completion(`${written}\n${written}`))).toMatchObject({ call: VIEW, more: true });
    },
  );

  it.each([
    ['an object in prose', 'It prints <function foo at 0x7f3a>, and <tool_call> is a tag.'],
    ['JSON that is cut off', '<tool_call>{"name": "file_editor", "arguments": {"command": "vi'],
    ['JSON without a name', '<tool_call>{"arguments": {"command": "view"}}</tool_call>'],
    ['a key without a value', '<tool_call>search<arg_key>search_term</arg_key></tool_call>'],
    ['arguments that are a list', '<tool_call>{"name": "search", "arguments": [1]}</tool_call>'],
    ['a value that is cut off', '<function=execute_bash><parameter=command>ls -la'],
  ])('are told, not guessed: %s', (_name, text) => {
    const { call, problem } = xml.read(completion(text));
    const told = call === null ? problem : readAction(call);
    expect(JSON.stringify(told)).toMatch(/contains no complete function call|There is no function/);
  });

  it('keep what closes them inside a value', () => {
    const parameters = { command: 'create', path: '/x.py', file_text: 'end = "</tool_call></function>"\n' };
    const json = `<tool_call>${JSON.stringify({ name: 'file_editor', arguments: parameters })}</tool_call>`;
    expect(findCall(json)?.call.parameters).toEqual(parameters);
    expect(findCall(`<function=file_editor>${JSON.stringify(parameters)}</function>`)?.call.parameters).toEqual(
      parameters,
    );
  });
});

describe('thoughts', () => {
  const call = '<function=finish></function>';
  it.each([
    ['in a block', `<think>a <function=x></function></think>b\n${call}`, 'a <function=x></function>\n\nb'],
    ['without the opening tag', `a</think>b\n${call}`, 'a\n\nb'],
    ['set apart by the server', `b\n${call}`, 'a\n\nb', 'a'],
  ])('%s are kept out of the answer', (_name, text, thought, reasoning = '') => {
    expect(xml.read(completion(text, { reasoning }))).toMatchObject({ thought, call: { name: 'finish' } });
    expect(xml.answered(completion(text, { reasoning })).content).toBe(`b\n${call}`);
  });
});

describe('calls of the API', () => {
  const one = { id: 'c1', name: 'execute_bash', arguments: '{"command": "ls"}' };

  it('are read, the first of several, and answered by their id', () => {
    const said = completion('I look.', { tool_calls: [one, { ...one, id: 'c2' }] });
    expect(tools.read(said)).toMatchObject({
      thought: 'I look.',
      call: { name: 'execute_bash', parameters: { command: 'ls' } },
      action: '<function=execute_bash>\n  <parameter=command>ls</parameter>\n</function>',
      more: true,
    });
    expect(tools.answered(said)).toEqual({ role: 'assistant', content: 'I look.', tool_calls: [one] });
    const thought = completion('I look.', { tool_calls: [one], reasoning: 'Where?' });
    expect(tools.answered(thought)).toMatchObject({ reasoning: 'Where?', tool_calls: [one] });
    expect(tools.answered(completion('Hm.', { reasoning: 'Where?' }))).not.toHaveProperty('reasoning');
    expect(tools.observed(said, 'x')).toEqual({ role: 'tool', tool_call_id: 'c1', content: 'x' });
  });

  it.each([
    ['no call', []],
    ['arguments that are no JSON', [{ ...one, arguments: '{"command": ' }]],
    ['arguments that are no object', [{ ...one, arguments: '[1]' }]],
    ['arguments that are a text', [{ ...one, arguments: '"ls"' }]],
  ])('%s are told, and the history stays one that a server takes', (_name, tool_calls) => {
    const said = completion('Hm.', { tool_calls });
    expect(tools.read(said)).toMatchObject({ call: null, problem: expect.any(String) as string });
    for (const { arguments: text } of tools.answered(said).tool_calls ?? [])
      expect(() => JSON.parse(text) as unknown).not.toThrow();
    expect(tools.observed(said, 'x').role).toBe(tool_calls.length === 0 ? 'user' : 'tool');
  });

  it('are read when their arguments were packed twice or left out, and kept as an object', () => {
    const twice = completion('', { tool_calls: [{ ...one, arguments: JSON.stringify(one.arguments) }] });
    expect(tools.read(twice).call).toEqual({ name: 'execute_bash', parameters: { command: 'ls' } });
    expect(tools.answered(twice).tool_calls?.[0]?.arguments).toBe('{"command":"ls"}');
    const none = completion('', { tool_calls: [{ ...one, name: 'finish', arguments: '' }] });
    expect(tools.read(none).call).toEqual({ name: 'finish', parameters: {} });
    expect(tools.answered(none).tool_calls?.[0]?.arguments).toBe('{}');
  });

  it('offers the four tools by the names of the scaffold', () => {
    const names = ['file_editor', 'execute_bash', 'search', 'finish'];
    for (const role of ['solver', 'judge', 'author'] as const) {
      expect(toolSpecs(role).map(({ name }) => name)).toEqual(names);
    }
    expect(tools.offersTools).toBe(true);
  });
});

describe('fenced commands', () => {
  it('are read, and the word finish submits', () => {
    expect(bash.read(completion('Look.\n```bash\nls -la\necho "```x"\n```\n'))).toMatchObject({
      thought: 'Look.',
      call: { name: 'execute_bash', parameters: { command: 'ls -la\necho "```x"\n' } },
    });
    expect(bash.read(completion('```sh\n finish \n```')).call).toEqual({
      name: 'finish',
      parameters: { command: 'submit' },
    });
  });

  it.each([
    ['prose', 'no block'],
    ['another language', '```python\nprint()\n```'],
    ['a block that never ends', '```bash\nls'],
  ])('are not seen in %s', (_name, text) => {
    expect(bash.read(completion(text))).toMatchObject({
      call: null,
      problem: expect.stringContaining('```bash') as string,
    });
  });
});
