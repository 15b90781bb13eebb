import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { readPatch, splitPatch } from '../../../../src/core/patch/patch.js';

const GIT = 'diff --git a/src/x.py b/src/x.py\n';
const NAMES = '--- a/src/x.py\n+++ b/src/x.py\n';
const HUNK = '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n';
const NO_END = '\\ No newline at end of file\n';

function made(mode: string, content = `@@ -0,0 +1 @@\n+/etc/passwd\n${NO_END}`): string {
  return `diff --git a/sub/l b/sub/l\n${mode}\n--- /dev/null\n+++ b/sub/l\n${content}`;
}

function changed(mode: string, from: string, to: string): string {
  return `diff --git a/sub/l b/sub/l\nindex 1111111..2222222 ${mode}\n--- a/sub/l\n+++ b/sub/l\n@@ -1 +1 @@\n-${from}\n${NO_END}+${to}\n${NO_END}`;
}

describe('links and submodules', () => {
  it.each([
    ['a link that is pointed elsewhere', changed('120000', 'x.py', '/etc/passwd'), 'symlink'],
    ['a link that climbs out on its way', made('new file mode 120000', `@@ -0,0 +1 @@\n+a/../../../b\n`), 'symlink'],
    ['a file that becomes a link', made('old mode 100644\nnew mode 120000'), 'symlink'],
    [
      'a link in binary form',
      'diff --git a/l b/l\nnew file mode 120000\nindex 000..111\nGIT binary patch\nliteral 3\nKcmb=\n\n',
      'symlink',
    ],
    ['a submodule that moves on', changed('160000', 'Subproject commit 1', 'Subproject commit 2'), 'submodule'],
    ['a submodule that goes', 'diff --git a/s b/s\ndeleted file mode 160000\n', 'submodule'],
    // Git reads all of these as links.
    ['a mode with a leading zero', made('new file mode 0120000'), 'unparsable'],
    ['a mode behind two blanks', made('new file mode  120000'), 'unparsable'],
    ['a link with permissions', made('new file mode 120777'), 'unparsable'],
  ])('%s is refused', (_name, patch, reason) => {
    expect(readPatch(patch)).toMatchObject({ kind: 'refused', reason });
  });

  it('lets go a link, and one that is pointed elsewhere within the tree', () => {
    expect(readPatch(changed('120000', 'x.py', '../data')).kind).toBe('ok');
    const gone = `diff --git a/l b/l\ndeleted file mode 120000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-/etc\n${NO_END}`;
    expect(readPatch(gone).kind).toBe('ok');
  });

  it('leaves a file written through a new link to git, which refuses it as "beyond a symbolic link"', () => {
    const link = `diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+src\n${NO_END}`;
    const through =
      'diff --git a/l/x.py b/l/x.py\nnew file mode 100644\n--- /dev/null\n+++ b/l/x.py\n@@ -0,0 +1 @@\n+x\n';
    expect(readPatch(link + through).kind).toBe('ok');
  });
});

describe('paths', () => {
  it.each([
    ['./x.py', 'unsafe-path'],
    ['src/./deep/x.py', 'unsafe-path'],
    ['src//x.py', 'unsafe-path'],
    ['src/..', 'unsafe-path'],
    ['/etc/x.py', 'unsafe-path'],
    ['C:/x.py', 'unsafe-path'],
    ['src\\x.py', 'unsafe-path'],
    [`${'d/'.repeat(3000)}x.py`, 'unsafe-path'],
    ['.git/config', 'git-internals'],
    ['sub/.GiT/hooks/post-checkout', 'git-internals'],
    ['GIT~1/config', 'git-internals'],
    ['.git./config', 'git-internals'],
  ])('%.40s is refused', (path, reason) => {
    expect(readPatch((GIT + NAMES + HUNK).replaceAll('src/x.py', path))).toMatchObject({ kind: 'refused', reason });
  });

  it.each(['.github/x.yml', '.gitignore.py', 'src/..x.py', 'a/b/a/b/x.py', 'with blank/x.py', 'git~10/x.py'])(
    '%s is none of these',
    (path) => {
      const patch = readPatch((GIT + NAMES + HUNK).replaceAll('src/x.py', path));
      expect(patch).toMatchObject({ kind: 'ok', files: [{ path }] });
    },
  );

  it('are judged on both sides of a rename', () => {
    const rename = (from: string, to: string): unknown =>
      readPatch(`diff --git a/x b/y\nsimilarity index 100%\nrename from ${from}\nrename to ${to}\n`);
    expect(rename('x.py', '../y.py')).toMatchObject({ reason: 'unsafe-path' });
    expect(rename('.git/config', 'y.py')).toMatchObject({ reason: 'git-internals' });
    expect(rename('"x.py"', '"\\056\\056/y.py"')).toMatchObject({ reason: 'unsafe-path' });
  });
});

describe('headers that git reads in a way of its own', () => {
  it.each([
    ['another word for a rename', `${GIT}rename old src/x.py\nrename new tests/test_x.py\n`],
    ['a rename behind the names', `${GIT}${NAMES}rename from src/x.py\nrename to tests/test_x.py\n${HUNK}`],
    ['a mode behind the names', `${GIT}${NAMES}new mode 120000\n${HUNK}`],
    ['names that stand twice', `${GIT}${NAMES}${NAMES}rename to tests/test_x.py\n${HUNK}`],
    ['one name that stands twice', `${GIT}${NAMES}+++ b/src/x.py\nrename to tests/test_x.py\n${HUNK}`],
    ['a date behind a blank', `${NAMES.replaceAll('x.py', 'conftest.py 2020-01-01 00:00:00')}${HUNK}`],
    ['a name that ends in a blank', GIT + NAMES.replaceAll('.py', '.py ') + HUNK],
    ['a line end that is none', `${GIT}rename from src/x.py\nrename to tests\u2028/x.py\n`],
    ['one name alone', `${GIT}--- a/src/x.py\n${HUNK}`],
    ['a hunk apart from its file', `${GIT}${NAMES}${HUNK}\n${HUNK}`],
    [
      'a header that takes up another file once the tests between them are left out',
      `diff --git a/l b/l\nnew file mode 120000\n${(GIT + NAMES + HUNK).replaceAll('src/x.py', 'tests/t.py')}\n--- a/l\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n`,
    ],
    ['a hunk header without numbers', `${GIT}${NAMES}@@ ... @@\n-a\n+b\n`],
  ])('%s is refused', (_name, patch) => {
    expect(readPatch(patch)).toMatchObject({ kind: 'refused', reason: 'unparsable' });
  });

  const line = fc.constantFrom(
    ...[GIT, 'diff --git a/tests/t.py b/tests/t.py\n', NAMES, '--- a/tests/t.py\n+++ b/tests/t.py\n', HUNK, HUNK],
    ...['rename from src/x.py\n', 'rename to tests/t.py\n', 'rename old src/x.py\n', 'rename new tests/t.py\n'],
    ...['copy from tests/t.py\n', 'copy to src/x.py\n', 'similarity index 100%\n', 'index 1111111..2222222 120000\n'],
    ...['new file mode 120000\n', 'old mode 100644\n', 'new mode 100755\n', '\n', '-- \n2.39\n', 'prose\n', NO_END],
    ...['--- a/tests/t.py 2020-01-01 00:00:00\n+++ b/tests/t.py 2020-01-01 00:00:00\n', '--- /dev/null\n', '@@ x\n'],
    ...['--- x/y/t.py\n+++ x/y/t.py\n', '+++ b/src/z.py\n', '--- a/src/x.py\t2020\n+++ b/"t.py"\t2020\n', '+new\n'],
  );

  it('never lets git write a file that was not seen here', () => {
    const tried = { read: 0, byGitToo: 0 };
    fc.assert(
      fc.property(fc.array(line, { minLength: 2, maxLength: 9 }), (lines) => {
        const patch = readPatch(lines.join(''));
        if (patch.kind !== 'ok') return;
        tried.read += 1;
        const input = splitPatch(patch).source;
        const git = spawnSync('git', ['apply', '--numstat', '-z', '-'], { input, encoding: 'utf8', cwd: tmpdir() });
        if (git.status !== 0) return;
        tried.byGitToo += 1;
        const written = git.stdout.split('\0').flatMap((row) => row.split('\t').slice(2));
        const seen = patch.files.filter(({ role }) => role === 'source').map(({ path }) => path);
        expect(seen).toEqual(expect.arrayContaining(written));
      }),
      { numRuns: 1500 },
    );
    expect(tried.byGitToo).toBeGreaterThan(5);
  });
});
