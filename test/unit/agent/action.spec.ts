import { readAction } from '../../../src/agent/tools/action.js';

describe('an action', () => {
  it('is read from text as from JSON', () => {
    const text = { command: 'view', path: '/x', view_range: '[1, 20]', concise: 'True', insert_line: '3' };
    const json = { command: 'view', path: '/x', view_range: [1, 20], concise: true, insert_line: 3 };
    expect(readAction({ name: 'file_editor', parameters: text })).toEqual(
      readAction({ name: 'file_editor', parameters: json }),
    );
  });

  it.each(['1, 20', '(1,20)', ' [1 20]\n'])('is read in lines of its own, and with the range %j', (range) => {
    const plain = { command: 'view', path: '/x', view_range: [1, 20] };
    const loose = { command: ' view\n', path: '\n/x\n', view_range: range };
    const read = readAction({ name: 'file_editor', parameters: loose });
    expect(read).toEqual(readAction({ name: 'file_editor', parameters: plain }));
    expect(read).toMatchObject({ action: plain });
    const search = { search_term: ' f\n', path: '\n/x\n' };
    const found = readAction({ name: 'search', parameters: search });
    expect(found).toMatchObject({ action: { search_term: 'f', path: '/x' } });
  });

  it.each(['', ' ', 'None', null])('is read without what a model left out as %j', (blank) => {
    const plain = { command: 'view', path: '/x' };
    const left = { view_range: blank, insert_line: blank, concise: blank };
    expect(readAction({ name: 'file_editor', parameters: { ...plain, ...left } })).toEqual({
      action: { tool: 'file_editor', ...plain, view_range: null, insert_line: null, concise: null },
    });
    const search = { search_term: '\ndef f\n', path: blank };
    expect(readAction({ name: 'search', parameters: search })).toEqual({
      action: { tool: 'search', search_term: 'def f', path: null },
    });
  });

  it('answers to the names of other releases', () => {
    expect(readAction({ name: 'execute_bash', parameters: { cmd: 'ls' } })).toMatchObject({
      action: { command: 'ls' },
    });
    expect(readAction({ name: 'submit', parameters: {} })).toMatchObject({ action: { tool: 'finish' } });
    expect(readAction({ name: 'functions.finish<|channel|>commentary', parameters: {} })).toMatchObject({
      action: { tool: 'finish' },
    });
  });

  it.each([
    [
      'an unknown function',
      { name: 'constructor', parameters: {} },
      /no function "constructor".*file_editor, execute_bash/,
    ],
    ['a missing parameter', { name: 'search', parameters: {} }, /search is invalid: "search_term" is missing/],
    [
      'a wrong range',
      { name: 'file_editor', parameters: { command: 'view', path: '/x', view_range: '1-20' } },
      /view_range/,
    ],
    ['an unknown command', { name: 'file_editor', parameters: { command: 'delete', path: '/x' } }, /"command"/],
    [
      'a number that is none',
      { name: 'file_editor', parameters: { command: 'insert', path: '/x', insert_line: 'two' } },
      /insert_line/,
    ],
  ])('that is %s is explained to the model', (_name, call, words) => {
    expect(readAction(call)).toEqual({ problem: expect.stringMatching(words) as string });
  });
});
