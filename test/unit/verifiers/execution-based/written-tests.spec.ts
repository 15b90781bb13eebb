import { issueTerms, namesIn } from '../../../../verifiers/source/issue-names.js';
import { asTests, codeBlocks } from '../../../../verifiers/execution-based/generated/written-tests.js';

const block = (script: string, fence = '```python'): string => `${fence}\n${script}\n\`\`\`\n`;

describe('an answer of the test writer', () => {
  it('is read for its complete blocks alone, in order', () => {
    const answer = `First.\n${block('import a')}Then.\n${block('import b', '```py')}${block('ls', '```bash')}\`\`\`python\nimport cut`;
    expect(codeBlocks(answer, 'python')).toEqual(['import a\n', 'import b\n']);
  });

  it.each([
    ['prose', 'I cannot write tests.'],
    ['a block in a thought', `<think>${block('import a')}</think>Nothing.`],
    ['an empty block', block('   ')],
    ['an endless script', block('x = 1\n'.repeat(20_000))],
  ])('holds no test in %s', (_name, answer) => {
    expect(codeBlocks(answer, 'python')).toEqual([]);
  });

  it('may be in JavaScript', () => {
    const answer = `${block('a()', '```javascript')}${block('b()', '```python')}${block('// again\na()', '```js')}`;
    expect(codeBlocks(answer, 'javascript')).toEqual(['a()\n', '// again\na()\n']);
    const tests = asTests('i', new Map([['t1', answer]]), 'javascript');
    expect(tests.map(({ path, content }) => [path, content])).toEqual([['t1-1.mjs', 'a()\n']]);
  });

  it('gives each test a name and an author, and each script once', () => {
    const answers = new Map([
      ['t1', block('import a\nimport sys') + block('import b')],
      ['t2', block('# the same\nimport a\n\nimport sys  ') + block('import c')],
    ]);
    expect(asTests('i', answers, 'python').map(({ test_id, author, content }) => [test_id, author, content])).toEqual([
      ['t1-1', 't1', 'import a\nimport sys\n'],
      ['t1-2', 't1', 'import b\n'],
      ['t2-2', 't2', 'import c\n'],
    ]);
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
