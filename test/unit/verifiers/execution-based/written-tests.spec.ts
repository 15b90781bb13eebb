import { issueTerms, namesIn } from '../../../../verifiers/source/issue-names.js';
import { asTests, testsIn } from '../../../../verifiers/execution-based/generated/written-tests.js';

const block = (script: string, fence = '```python'): string => `${fence}\n${script}\n\`\`\`\n`;

const scriptsIn = (answer: string, language: 'python' | 'javascript' = 'python'): readonly string[] =>
  testsIn(answer, language).map(({ content }) => content);

describe('an answer of the test writer', () => {
  it('is read for its complete blocks alone, in order', () => {
    const answer = `First.\n${block('import a')}Then.\n${block('import b', '```py')}${block('ls', '```bash')}\`\`\`python\nimport cut`;
    expect(scriptsIn(answer)).toEqual(['import a\n', 'import b\n']);
  });

  it.each([
    ['prose', 'I cannot write tests.'],
    ['a block in a thought', `<think>${block('import a')}</think>Nothing.`],
    ['an empty block', block('   ')],
    ['an endless script', block('x = 1\n'.repeat(20_000))],
  ])('holds no test in %s', (_name, answer) => {
    expect(scriptsIn(answer)).toEqual([]);
  });

  it('may be in JavaScript', () => {
    const answer = `${block('a()', '```javascript')}${block('b()', '```python')}${block('// again\na()', '```js')}`;
    expect(scriptsIn(answer, 'javascript')).toEqual(['a()\n', '// again\na()\n']);
    const tests = asTests('i', new Map([['t1', { text: answer }]]), 'javascript');
    expect(tests.map(({ path, content }) => [path, content])).toEqual([['t1-1.mjs', 'a()\n']]);
  });

  it('gives each test a name and an author, and each script once', () => {
    const answers = new Map([
      ['t1', { text: block('import a\nimport sys') + block('import b'), angle: 'edges' }],
      ['t2', { text: block('# the same\nimport a\n\nimport sys  ') + block('import c') }],
    ]);
    const tests = asTests('i', answers, 'python');
    expect(tests.map(({ test_id, author, content, angle }) => [test_id, author, content, angle])).toEqual([
      ['t1-1', 't1', 'import a\nimport sys\n', 'edges'],
      ['t1-2', 't1', 'import b\n', 'edges'],
      ['t2-2', 't2', 'import c\n', undefined],
    ]);
  });

  it('may be in a language without a driver: a file at its place, files before it, and a command', () => {
    const answer =
      'The example.\n```go calc/sum_test.go\npackage calc\n```\nWith data, by a script.\n```file t/in.txt\n1 2\n```\n' +
      '```command tap\nprove -v {files}\n```\n```go t/sum_test.go\npackage t\n```\nNowhere.\n```go\npackage calc // 2\n```\n' +
      '```go two words.go\npackage none\n```\n';
    expect(asTests('i', new Map([['t1', { text: answer }]]), 'go')).toEqual([
      { instance_id: 'i', test_id: 't1-1', path: 'calc/sum_test.go', content: 'package calc\n', author: 't1' },
      {
        instance_id: 'i',
        test_id: 't1-2',
        path: 't/sum_test.go',
        content: 'package t\n',
        files: { 't/in.txt': '1 2\n' },
        command: 'prove -v {files}',
        report: 'tap',
        author: 't1',
      },
      { instance_id: 'i', test_id: 't1-3', path: 't1_3_test.go', content: 'package calc // 2\n', author: 't1' },
    ]);
  });

  it('keeps apart what differs only in lines that begin like a comment', () => {
    const answer = block('#include "a.h"\nint main;', '```c a.c') + block('#include "b.h"\nint main;', '```c a.c');
    expect(asTests('i', new Map([['t1', { text: answer }]]), 'c')).toHaveLength(2);
  });
});

describe('the names that an issue mentions', () => {
  it('are those of code', () => {
    const issue =
      'SI._collect_factor_and_dimension() fails in `sympy.physics.units` for QuantityLike and `exp`. See units/unitsystem.py';
    const terms = issueTerms(issue);
    for (const term of ['_collect_factor_and_dimension', 'QuantityLike', 'physics', 'units', 'exp'])
      expect(terms).toContain(term);
    for (const word of ['fails', 'for', 'and', 'See']) expect(terms).not.toContain(word);
  });

  it('are few, whatever the issue', () => {
    const long = Array.from({ length: 500 }, (_, n) => `some_name_${n}`).join(' ');
    expect(issueTerms(long).length).toBeLessThanOrEqual(40);
    expect(issueTerms('')).toEqual([]);
  });

  it('may be files, by path or as modules', () => {
    expect(namesIn('see pkg/mod.py').places).toContain('pkg/mod');
    expect(namesIn('in pkg.mod it fails').places).toContain('pkg/mod');
    expect(namesIn('in mod it fails').places).toEqual([]);
  });
});
