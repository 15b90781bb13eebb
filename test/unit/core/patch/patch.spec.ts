import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { structuredPatch } from 'diff';
import fc from 'fast-check';
import {
  GIT_APPLY,
  patchedText,
  patchSize,
  readPatch,
  splitPatch,
  type ParsedPatch,
  type ReadablePatch,
  fingerprint,
  readSummaries,
  summaryOf,
} from '../../../../src/core/patch/patch.js';

const HEAD = 'diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n';
const EDIT = `${HEAD}@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n`;

function readable(text: string): ReadablePatch {
  const patch = readPatch(text);
  if (patch.kind !== 'ok') throw new Error(`${patch.kind}: ${JSON.stringify(patch)}`);
  return patch;
}

/** A git diff between two texts of one file. */
function diff(path: string, before: string, after: string, context: number): string {
  const { hunks } = structuredPatch(path, path, before, after, '', '', { context });
  if (hunks.length === 0) return '';
  // Of an empty side git names the line before it; jsdiff's raw hunks name the line itself.
  const side = (start: number, lines: number): string => `${lines === 0 ? start - 1 : start},${lines}`;
  const bodies = hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) =>
    [`@@ -${side(oldStart, oldLines)} +${side(newStart, newLines)} @@`, ...lines, ''].join('\n'),
  );
  return `diff --git a/${path} b/${path}\nindex 1..2 100644\n--- a/${path}\n+++ b/${path}\n${bodies.join('')}`;
}

const text = fc
  .array(fc.constantFrom('a', 'b', '', '  c', '-- a/x', '++ b/y', '@@ -1 +1 @@', 'diff --git a/q b/q'), {
    minLength: 1,
    maxLength: 12,
  })
  .map((lines) => `${lines.join('\n')}\n`);

describe('reading a patch', () => {
  it('never throws, whatever it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (any) =>
        ['empty', 'refused', 'ok'].includes(readPatch(any).kind),
      ),
    );
    fc.assert(
      fc.property(fc.nat(EDIT.length), fc.nat(EDIT.length), fc.string({ maxLength: 5 }), (from, length, put) => {
        expect(() => readPatch(EDIT.slice(0, from) + put + EDIT.slice(from + length))).not.toThrow();
      }),
    );
  });

  it('keeps every byte of the files it splits', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 4 }), (pairs) => {
        const whole = pairs.map(([before, after], i) => diff(`src/f${i}.py`, before, after, 3)).join('');
        fc.pre(whole !== '');
        expect(splitPatch(readable(whole))).toEqual({ source: whole, setApart: [] });
      }),
    );
  });

  it.each([
    ['an empty text', '', 'empty'],
    ['blanks', ' \n\n', 'empty'],
    ['a missing last line feed', EDIT.slice(0, -1), 'ok'],
    ['CRLF bodies', `${HEAD}@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n`, 'ok'],
    ['empty context lines without their blank', `${HEAD}@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n\n`, 'ok'],
    ['blank lines and a signature behind a hunk', `${EDIT}\n\n-- \n2.39.2\n`, 'ok'],
    ['a mail before it', `From: someone\nSubject: fix\n\n${EDIT}`, 'ok'],
    ['no git header', EDIT.slice(EDIT.indexOf('---')), 'ok'],
    ['no newline at the end of the file', `${HEAD}@@ -1 +1 @@\n-two\n\\ No newline at end of file\n+TWO\n`, 'ok'],
    ['a rename', 'diff --git a/x.py b/y.py\nsimilarity index 100%\nrename from x.py\nrename to y.py\n', 'ok'],
    ['a mode change', 'diff --git a/x.py b/x.py\nold mode 100644\nnew mode 100755\n', 'ok'],
    ['a new empty file', 'diff --git a/n.py b/n.py\nnew file mode 100644\nindex 0000000..e69de29\n', 'ok'],
    [
      'a quoted path',
      'diff --git "a/\\303\\251.py" "b/\\303\\251.py"\n--- "a/\\303\\251.py"\n+++ "b/\\303\\251.py"\n@@ -1 +1 @@\n-a\n+b\n',
      'ok',
    ],
    ['a copy', 'diff --git a/x.py b/y.py\nsimilarity index 100%\ncopy from x.py\ncopy to y.py\n', 'ok'],
    [
      'a deletion',
      'diff --git a/x.py b/x.py\ndeleted file mode 100644\n--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n',
      'ok',
    ],
    ['binary contents', 'diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmb=\n\n', 'ok'],
    ['binary files without contents', 'diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n', 'refused'],
    ['a text that is CRLF throughout', EDIT.replaceAll('\n', '\r\n'), 'ok'],
    ['dates behind the names', EDIT.slice(EDIT.indexOf('---')).replaceAll('.py\n', '.py\t2020-01-01 00:00:00\n'), 'ok'],
    ['a byte-order mark before it', `\ufeff${EDIT}`, 'ok'],
    ['a fence around it', `\`\`\`diff\n${EDIT}\`\`\`\n`, 'ok'],
    ['prose', 'I would change the sign.', 'refused'],
    ['a hunk that is cut off in its change', EDIT.slice(0, EDIT.indexOf('+TWO')), 'refused'],
    ['a hunk with too many lines', `${HEAD}@@ -1 +1 @@\n-a\n+b\n+c\n`, 'ok'],
    ['a hunk without a file', '@@ -1 +1 @@\n-a\n+b\n', 'refused'],
  ])('%s', (_name, given, kind) => {
    expect(readPatch(given).kind).toBe(kind);
  });

  it.each([
    ['unsafe-path', EDIT.replaceAll('x.py', '../x.py')],
    ['unsafe-path', EDIT.replaceAll('a/x.py', '/etc/x.py').replaceAll('b/x.py', '/etc/x.py')],
    ['unsafe-path', EDIT.replaceAll('x.py', 'a/./x.py')],
    ['unparsable', EDIT.replaceAll('a/x.py', 'zz/x.py')],
    ['unparsable', EDIT.slice(EDIT.indexOf('---')).replaceAll('a/x.py', 'x.py').replaceAll('b/x.py', 'x.py')],
    ['git-internals', EDIT.replaceAll('x.py', '.git/hooks/pre-commit')],
    ['git-internals', EDIT.replaceAll('x.py', 'sub/.GIT/config')],
    ['git-internals', EDIT.replaceAll('x.py', 'git~1/config')],
    ['symlink', link('../../etc/passwd')],
    ['symlink', link('/etc/passwd')],
    [
      'submodule',
      'diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 1\n',
    ],
    ['too-large', `${EDIT}${'#'.repeat(50_000_000)}`],
    ['too-large', `--- a/x\n+++ b/x\n${'@@ -1 +1 @@\n-a\n+b\n'.repeat(20_001)}`],
    ['too-large', 'diff --git a/x b/x\nold mode 100644\nnew mode 100755\n'.repeat(5_001)],
  ])('refuses: %s', (reason, given) => {
    expect(readPatch(given)).toMatchObject({ kind: 'refused', reason });
  });

  it('lets a link stay within the tree', () => {
    expect(readPatch(link('../data/file')).kind).toBe('ok');
  });
});

function link(target: string): string {
  return `diff --git a/sub/l b/sub/l\nnew file mode 120000\n--- /dev/null\n+++ b/sub/l\n@@ -0,0 +1 @@\n+${target}\n\\ No newline at end of file\n`;
}

describe('a text with a patch applied', () => {
  const patched = (hunks: number, lines: number): string | null => {
    const body = Array.from(
      { length: hunks },
      (_, n) => `@@ -${lines - n} +${lines - n} @@\n-line ${n}\n+other ${n}\n`,
    );
    const [file] = readable(HEAD + body.join('')).files;
    if (file === undefined) throw new Error('it names a file');
    return patchedText(file, Array.from({ length: lines }, (_, n) => `line ${n}\n`).join(''));
  };

  it('is looked for by git’s rules, wherever its hunks are said to stand', () => {
    expect(patched(3, 1_000)).toMatch(/^other 0\nother 1\nother 2\nline 3\n/);
  });

  it('is none where looking would take as long as somebody likes', () => {
    expect(patched(1_000, 100_000)).toBeNull();
  });
});

describe('what a run goes by of its patches', () => {
  const statement = 'It adds wrongly.';

  it('is read once, and others have their turn between one patch and the next', async () => {
    const candidates = [EDIT, '', 'prose'].map((patch) => ({ patch }));
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    await readSummaries([...candidates, ...Array.from({ length: 50 }, () => ({ patch: EDIT.repeat(200) }))], statement);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(1);
    const [edit, empty, prose] = candidates.map((candidate) => summaryOf(candidate, statement));
    expect(edit).toMatchObject({ kind: 'ok', source: EDIT, setApart: [], size: 2 });
    expect([empty, prose]).toMatchObject([{ kind: 'empty' }, { kind: 'refused', reason: 'unparsable' }]);
    expect(summaryOf(candidates[0] ?? { patch: '' }, statement)).toBe(edit);
  });

  it('is another for an issue that is about a manifest', () => {
    const candidate = { patch: EDIT.replaceAll('x.py', 'setup.cfg') };
    expect(summaryOf(candidate, statement)).toMatchObject({ source: '', manifests: [] });
    expect(summaryOf(candidate, 'setup.cfg lacks a dependency')).toMatchObject({ manifests: ['setup.cfg'] });
  });
});

describe('the fingerprint of a patch', () => {
  const print = (given: string): string => fingerprint(readable(given));

  it('does not see index lines or the order of files', () => {
    fc.assert(
      fc.property(text, text, fc.nat(10), (before, after, context) => {
        fc.pre(before !== after);
        const [a, b] = [diff('a.py', before, after, context), diff('a.py', before, after, context)];
        expect(print(a)).toBe(print(b.replace('index 1..2', 'index 3..4')));
        expect(print(a + EDIT)).toBe(print(EDIT + b));
      }),
    );
  });

  it('sees every other difference, indentation and position included', () => {
    fc.assert(
      fc.property(text, text, text, (before, one, other) => {
        fc.pre(one !== before && other !== before && one !== other);
        // Two edits may be told as the same changes only if they make the same file.
        expect(print(diff('a.py', before, one, 3))).not.toBe(print(diff('a.py', before, other, 3)));
      }),
    );
    expect(print(EDIT)).not.toBe(print(EDIT.replace('+TWO', '+ TWO')));
    // Other context: git may apply one and refuse the other.
    expect(print(EDIT)).not.toBe(print(EDIT.replace(' one', ' uno')));
    expect(print(EDIT)).not.toBe(print(EDIT.replaceAll('x.py', 'y.py')));
    expect(print(EDIT)).not.toBe(print(EDIT.replace('@@ -1,3 +1,3 @@', '@@ -11,3 +11,3 @@')));
  });

  it('does not see tests that are set apart', () => {
    expect(print(EDIT + EDIT.replaceAll('x.py', 'tests/test_x.py'))).toBe(print(EDIT));
  });
});

it('a patch is applied at the root of the repository, also from a folder below', () => {
  const root = mkdtempSync(join(tmpdir(), 'bestk-root-'));
  const cwd = join(root, 'packages/foo');
  mkdirSync(cwd, { recursive: true });
  spawnSync('git', ['init', '-q'], { cwd: root });
  writeFileSync(join(root, 'x.py'), 'one\ntwo\nthree\n');
  const apply = (...more: string[]): number | null =>
    spawnSync(GIT_APPLY[0] ?? '', [...GIT_APPLY.slice(1), ...more, '-'], { cwd, input: EDIT }).status;
  expect([apply('--check'), apply(), apply('--check')]).toEqual([0, 0, 1]);
  expect(readFileSync(join(root, 'x.py'), 'utf8')).toBe('one\nTWO\nthree\n');
  rmSync(root, { recursive: true });
});

describe('what a file is to verification', () => {
  it('sets tests and configuration apart, and counts the lines of all that is returned', () => {
    const patch = readable(EDIT + EDIT.replaceAll('x.py', 'tests/test_x.py') + EDIT.replaceAll('x.py', 'conftest.py'));
    expect(splitPatch(patch)).toEqual({
      source: EDIT,
      setApart: [
        { path: 'tests/test_x.py', role: 'test' },
        { path: 'conftest.py', role: 'runner-config' },
      ],
    });
    expect(patchSize(patch)).toBe(6);
  });

  it.each([
    ['json.py', 'runner-config'],
    ['json/__init__.py', 'runner-config'],
    ['pluggy.py', 'runner-config'],
    ['pytest_extra.py', 'runner-config'],
    ['src/json.py', 'source'],
    ['json/more.py', 'source'],
    ['jsons.py', 'source'],
  ])('a new %s is %s, and one that is changed is source', (path, role) => {
    const added = `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+a\n`;
    const roles = [added, EDIT.replaceAll('x.py', path)].map((text) => readable(text).files[0]?.role);
    expect(roles).toEqual([role, 'source']);
    const renamed = `diff --git a/x.py b/${path}\nsimilarity index 100%\nrename from x.py\nrename to ${path}\n`;
    expect(readable(renamed).files[0]?.path === path).toBe(role === 'source');
  });

  it.each([
    [
      'binary',
      'diff --git a/json.py b/json.py\nnew file mode 100644\nindex 0000000..d2321f8\nGIT binary patch\nliteral 8\nPcmY#ZVBo5-HRJ*S1vLRa\n\nliteral 0\nHcmV?d00001\n\n',
    ],
    ['empty', 'diff --git a/json.py b/json.py\nnew file mode 100644\nindex 0000000..e69de29\n'],
    ['told by its lines alone', '--- a/json.py\n+++ b/json.py\n@@ -0,0 +1 @@\n+a\n'],
    ['a copy', 'diff --git a/x.py b/json.py\nsimilarity index 100%\ncopy from x.py\ncopy to json.py\n'],
  ])('a new module that shadows another is set apart if it is %s', (_, added) => {
    expect(readable(added).files[0]?.role).toBe('runner-config');
  });

  it.each([
    ['setup.cfg', 'The option python_requires is wrong in setup.cfg.', 'source'],
    ['pyproject.toml', 'The wheel lacks the templates.', 'source'],
    ['web/package.json', 'peerDependencies allow React 19.', 'source'],
    ['setup.cfg', 'It fails with an empty list.', 'runner-config'],
    ['conftest.py', 'conftest.py is wrong, and so is a dependency.', 'runner-config'],
  ])('%s changed alone, where the issue says "%s", is %s', (path, statement, role) => {
    const patch = readPatch(EDIT.replaceAll('x.py', path), statement);
    expect(patch).toMatchObject({ kind: 'ok', files: [{ role }] });
  });

  it('sets a manifest apart beside other source, whatever the issue is about', () => {
    const patch = readPatch(EDIT + EDIT.replaceAll('x.py', 'setup.cfg'), 'setup.cfg is wrong.') as ReadablePatch;
    expect(splitPatch(patch)).toEqual({ source: EDIT, setApart: [{ path: 'setup.cfg', role: 'runner-config' }] });
  });

  it('sees where a file without hunks stands', () => {
    const moved = 'diff --git a/x.py b/y.py\nsimilarity index 100%\nrename from x.py\nrename to y.py\n';
    const quoted = EDIT.replaceAll('a/x.py', '"a/\\303\\251.py"').replaceAll('b/x.py', '"b/\\303\\251.py"');
    const gone = 'diff --git a/g.py b/g.py\ndeleted file mode 100644\n--- a/g.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n';
    const binary = 'diff --git a/b.bin b/b.bin\nGIT binary patch\nliteral 3\nKcmb=\n\n';
    const { files } = readable(moved + quoted + binary + gone + EDIT);
    expect(files.map(({ path }) => path)).toEqual(['y.py', 'é.py', 'b.bin', 'g.py', 'x.py']);
    expect(files.map(({ text }) => text)).toEqual([moved, quoted, binary, gone, EDIT]);
  });

  it('sets apart a test that becomes source', () => {
    const moved =
      'diff --git a/tests/test_x.py b/x.py\nsimilarity index 100%\nrename from tests/test_x.py\nrename to x.py\n';
    expect(splitPatch(readable(moved)).source).toBe('');
  });
});

describe('patches that real agents wrote', () => {
  const files = ['issues/candidates.jsonl', 'pools/lite_pool.candidates.jsonl', 'pools/verified_pool.candidates.jsonl'];
  it.each(files)('%s are all readable', (name) => {
    const path = resolve('../shared/data', name);
    if (!existsSync(path)) {
      console.warn(`SKIPPED: ${path} is not there`);
      return;
    }
    const refused = readFileSync(path, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line): ParsedPatch => readPatch((JSON.parse(line) as { patch: string }).patch))
      .flatMap((patch) => (patch.kind === 'refused' ? [patch.detail] : []));
    // Two patches of the first pool are nothing else.
    const stubs = /^it consists of binary files without their data/;
    expect(refused.filter((detail) => !stubs.test(detail))).toEqual([]);
  });
});
