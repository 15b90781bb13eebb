import { createTwoFilesPatch } from 'diff';
import { syntaxOf } from '../../../../verifiers/execution-based/tree/syntax.js';
import { ended, exited, FakeSandbox, type FakeHandler } from '../../../fakes/fake-sandbox.js';

const MODULE = 'export function add(a, b) {\n  return a - b;\n}\n';
const PYTHON = 'def add(a, b):\n    return a - b\n';
const FILES = { 'src/calc.ts': MODULE, 'calc.py': PYTHON, 'notes.txt': 'one\n\ntwo\n' };

/** A digest of a text without blanks, for each that is asked about; null for one that says so. */
const PARSES: FakeHandler = ({ stdin = '' }) => {
  const texts = JSON.parse(Buffer.from(stdin).toString()) as string[];
  return exited(0, JSON.stringify(texts.map((text) => (text.includes('!') ? null : text.replaceAll(/\s/g, '')))));
};

async function syntax(patches: readonly string[], handler: FakeHandler = PARSES): Promise<readonly (string | null)[]> {
  const files = Object.fromEntries(Object.entries(FILES).map(([path, text]) => [`/repo/${path}`, text]));
  const sandbox = new FakeSandbox(handler, { images: { demo: { workdirs: ['/repo'], files } } });
  const signal = new AbortController().signal;
  const spec = { image: 'demo', workdir: '/repo', baseCommit: null, purpose: 'test' };
  await using session = await sandbox.open(spec, signal);
  return await syntaxOf(session, { workdir: '/repo', patches }, signal);
}

function change(path: keyof typeof FILES, after: string): string {
  const diff = createTwoFilesPatch(`a/${path}`, `b/${path}`, FILES[path], after, '', '');
  return `diff --git a/${path} b/${path}\n${diff.slice(diff.indexOf('---'))}`;
}

describe('the syntax of a change', () => {
  it('of a language with braces is its tokens: comments and layout aside, everything else within', async () => {
    const variants = [
      'export function add(a, b) {\n  return a + b;\n}\n',
      '// Adds.\nexport function add(a, b)\n{ /* as its name says */\n\n    return a+b; // now\n}\n',
      'export function add(a, b) {\n  return b + a;\n}\n',
      "export function add(a, b) {\n  return a + b + '// no comment';\n}\n",
      "export function add(a, b) {\n  return a + b + '// another';\n}\n",
      'export function add(a, b) {\n  return /[/]\\/\\//.test(a) ? a : b;\n}\n',
      'export function add(a, b) {\n  return /[/]\\/\\//.test(b) ? a : b;\n}\n',
      // Returns nothing: the line ends the statement.
      'export function add(a, b) {\n  return\n    a + b;\n}\n',
    ];
    const [plain, spaced, ...others] = await syntax(variants.map((after) => change('src/calc.ts', after)));
    expect(spaced).toBe(plain);
    expect(new Set([plain, ...others]).size).toBe(1 + others.length);
    expect(others).not.toContain(null);
  });

  it('of Python is what its own parser says, asked once about all', async () => {
    const variants = [PYTHON.replace('-', '+'), PYTHON.replace('a - b', 'a  +  b'), PYTHON.replace('-', '*')];
    let asked = 0;
    const [one, same, other] = await syntax(
      variants.map((after) => change('calc.py', after)),
      (request, view) => {
        asked += 1;
        return PARSES(request, view);
      },
    );
    expect(same).toBe(one);
    expect(other).not.toBe(one);
    expect(asked).toBe(1);
  });

  it('of Python is told of the others where its parser does not survive one', async () => {
    const fatal = change('calc.py', `x = ${'1+'.repeat(9)}1\n`);
    const good = ['+', '*', '%'].map((sign) => change('calc.py', PYTHON.replace('-', sign)));
    const told = await syntax([...good, fatal], (request, view) =>
      Buffer.from(request.stdin ?? '').includes('1+1') ? exited(139) : PARSES(request, view),
    );
    expect(told).toEqual([...good.map(() => expect.any(String) as unknown), null]);
  });

  it('of a change of comments alone is that of no change, in any language', async () => {
    const [typescript, text] = await syntax([
      change('src/calc.ts', `// Adds.\n${MODULE}`),
      change('notes.txt', 'one \n\n\ntwo\n'),
    ]);
    expect(typescript).toBe(text);
    expect(typescript).not.toBeNull();
  });

  it('is unknown where it could not be told, and of that patch alone', async () => {
    const moved = 'diff --git a/calc.py b/x.py\nsimilarity index 100%\nrename from calc.py\nrename to x.py\n';
    const absent = change('calc.py', 'x\n').replaceAll('calc.py', 'none.py');
    const good = change('calc.py', PYTHON.replace('-', '+'));
    expect(await syntax([moved, absent, 'no patch', change('calc.py', 'return !\n'), good])).toEqual([
      null,
      null,
      null,
      null,
      expect.any(String),
    ]);
  });

  it('is unknown beyond some megabytes of text, which would all be held at once', async () => {
    const large = `x = 1;\n${`${'y'.repeat(1_000)}\n`.repeat(500)}`;
    const files = { '/repo/large.txt': large };
    const sandbox = new FakeSandbox(PARSES, { images: { demo: { workdirs: ['/repo'], files } } });
    const { signal } = new AbortController();
    await using session = await sandbox.open(
      { image: 'demo', workdir: '/repo', baseCommit: null, purpose: 't' },
      signal,
    );
    const patches = Array.from(
      { length: 40 },
      (_, at) =>
        `diff --git a/large.txt b/large.txt\n--- a/large.txt\n+++ b/large.txt\n@@ -1 +1 @@\n-x = 1;\n+x = ${at + 2};\n`,
    );
    const told = await syntaxOf(session, { workdir: '/repo', patches }, signal);
    const known = told.filter((one) => one !== null);
    expect([told[0], told.at(-1)]).toEqual([expect.any(String), null]);
    expect(new Set(known).size).toBe(known.length);
  });

  it.each([
    ['has no Python', exited(127, '', 'sh: python3: not found')],
    ['answers with something else', exited(0, '["a"')],
    ['runs out of memory', ended('out-of-memory')],
    ['takes too long', ended('timed-out')],
  ])('is unknown, and nothing worse, where the container %s', async (_what, outcome) => {
    const patches = [change('calc.py', PYTHON.replace('-', '+')), change('src/calc.ts', MODULE.replace('-', '+'))];
    expect(await syntax(patches, () => outcome)).toEqual([null, expect.any(String)]);
  });
});
