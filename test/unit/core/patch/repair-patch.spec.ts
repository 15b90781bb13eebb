import { type ParsedPatch, readPatch } from '../../../../src/core/patch/patch.js';
import { repairForBase } from '../../../../src/core/patch/repair-for-base.js';
import type { PatchForm } from '../../../../src/core/patch/repair-patch.js';

const HEAD = 'diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n';
const EDIT = `${HEAD}@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n`;
const OTHER = EDIT.replaceAll('x.py', 'y.py');
const stub = (path: string, extended = 'new file mode 100644\n'): string =>
  `diff --git a/${path} b/${path}\n${extended}index 0000000..5f3a1c2\nBinary files /dev/null and b/${path} differ\n`;

function read(text: string): PatchForm | Exclude<ParsedPatch, PatchForm> {
  const patch = readPatch(text);
  return patch.kind === 'ok' ? { text: patch.text, repairs: patch.repairs } : patch;
}

describe('binary files without their data', () => {
  it.each([
    ['after the change', EDIT + stub('t.db'), EDIT],
    ['before it', stub('t.db') + EDIT, EDIT],
    ['between changes', EDIT + stub('t.db') + stub('u.png', '') + OTHER, EDIT + OTHER],
    ['that are deleted', EDIT + stub('t.db', 'deleted file mode 100644\n'), EDIT],
  ])('are dropped: %s', (_name, given, text) => {
    expect(read(given)).toEqual({ text, repairs: ['stub-dropped'] });
  });

  it('are dropped from CR LF text', () => {
    const given = (EDIT + stub('t.db')).replaceAll('\n', '\r\n');
    expect(read(given)).toMatchObject({ repairs: ['stub-dropped', 'crlf'] });
  });

  it('keep a rename or a mode, which git can apply', () => {
    const renamed = 'diff --git a/p.png b/q.png\nsimilarity index 90%\nrename from p.png\nrename to q.png\n';
    const binary = 'index 1111111..2222222 100644\nBinary files a/p.png and b/q.png differ\n';
    expect(read(EDIT + renamed + binary)).toEqual({ text: EDIT + renamed, repairs: ['stub-dropped'] });
  });

  it('are a reason to refuse a patch of nothing else', () => {
    for (const text of [stub('t.db'), stub('t.db') + stub('u.png')]) {
      expect(read(text)).toMatchObject({
        kind: 'refused',
        detail: expect.stringContaining('git diff --binary') as string,
      });
    }
  });

  it('are left to git if it could find the data by its full name, and dropped if it does not', async () => {
    const full = stub('t.db').replace('0000000..5f3a1c2', `${'0'.repeat(40)}..${'5'.repeat(40)}`);
    const given = EDIT + full;
    expect(read(given)).toEqual({ text: given, repairs: [] });
    const forms = await repairForBase({ text: given, repairs: [] }, async () => null);
    expect(forms).toEqual([{ text: EDIT, repairs: ['stub-dropped'] }]);
  });

  it('are no lines of a hunk, and no files with data', () => {
    const line = `${HEAD}@@ -1 +1,2 @@\n one\n+Binary files a and b differ\n`;
    const data = 'diff --git a/t b/t\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmb=\n\n';
    for (const text of [line, EDIT + data]) expect(read(text)).toEqual({ text, repairs: [] });
  });

  it('hide nothing that is refused', () => {
    expect(read(EDIT.replaceAll('x.py', '../x.py') + stub('t.db'))).toMatchObject({ reason: 'unsafe-path' });
    expect(read(EDIT + stub('.git/hooks/x'))).toMatchObject({ reason: 'git-internals' });
  });
});

describe('blank context lines that were lost', () => {
  const long = `${HEAD}@@ -1,5 +1,5 @@\n one\n-two\n+TWO\n three\n \n \n`;
  const second = '@@ -9,4 +9,5 @@\n nine\n+9.5\n ten\n \n \n';

  it.each([
    ['at the end of the patch', long.slice(0, -4), long],
    ['one of two', long.slice(0, -2), long],
    ['with the last line feed', long.slice(0, -5), long],
    ['before the next hunk', long.slice(0, -4) + second, long + second],
    ['of both hunks', long.slice(0, -4) + second.slice(0, -4), long + second],
    ['before the next file', long.slice(0, -4) + OTHER, long + OTHER],
    [
      'before a file without a git header',
      long.slice(0, -4) + OTHER.slice(OTHER.indexOf('---')),
      long + OTHER.slice(OTHER.indexOf('---')),
    ],
  ])('are put back: %s', (_name, given, text) => {
    expect(read(given)).toEqual({ text, repairs: ['context-restored'] });
  });

  it('are put back in front of a context line that begins with neither a blank nor a sign', () => {
    expect(read(EDIT.replace(' three', 'three'))).toEqual({ text: EDIT, repairs: ['context-restored'] });
  });

  it.each([
    ['the counts differ', long.slice(0, long.indexOf('+TWO'))],
    ['a change was cut off', long.slice(0, long.indexOf('-two')).replace('-1,5 +1,5', '-1,5 +1,6')],
    ['a hunk would be blank for thousands of lines', `${HEAD}@@ -1,900000000 +1,900000000 @@\n one\n`],
  ])('stay lost if %s', (_name, given) => {
    expect(read(given)).toMatchObject({ kind: 'refused', reason: 'unparsable' });
  });

  const base = 'one\n\ntwo\n\n\nthree\nfour\n';
  const whole = `${HEAD}@@ -1,6 +1,6 @@\n one\n \n-two\n+TWO\n \n \n three\n`;
  const atEnd = async (text: string): Promise<readonly PatchForm[]> => {
    const form = read(text);
    if (!('repairs' in form)) throw new Error(JSON.stringify(form));
    return repairForBase(form, async () => base);
  };

  it('are put back within a hunk where the file has them', async () => {
    const stripped = whole.replaceAll(' \n', '');
    expect(await atEnd(stripped)).toEqual([{ text: whole, repairs: ['context-restored'] }]);
    const next = `@@ -7 +7,2 @@\n four\n+five\n`;
    expect(await atEnd(stripped + next)).toEqual([
      { text: `${whole}@@ -7,1 +7,2 @@\n four\n+five\n`, repairs: ['context-restored'] },
    ]);
  });

  it('stay lost beside an added line that may have come before or after them', async () => {
    expect(await atEnd(`${HEAD}@@ -1,3 +1,4 @@\n one\n+new\n two\n`)).toEqual([]);
  });

  it('are never found by fuzz, because nobody saw them', async () => {
    expect(await atEnd(`${HEAD}@@ -3,4 +3,4 @@\n-two\n+TWO\n other\n`)).toEqual([]);
  });
});

describe('CR LF', () => {
  const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
  const text = EDIT.replace(' three', ' three\n \n four').replace('-1,3 +1,3', '-1,5 +1,5');
  const file = 'one\ntwo\nthree\n\nfour\n';
  const forms = async (given: string, files: Readonly<Record<string, string>>): Promise<readonly PatchForm[]> => {
    const form = read(given);
    if (!('repairs' in form)) throw new Error(JSON.stringify(form));
    return repairForBase(form, async (path) => files[path] ?? null);
  };
  const unixHeaders = (given: string): string => given.replaceAll(/^((?:diff|---|\+\+\+|@@)[^\n]*)\r$/gm, '$1');

  it('in headers and in blank context lines without their blank is read', () => {
    const given = crlf(text.replace('\n \n', '\n\n'));
    expect(read(given)).toEqual({ text: unixHeaders(crlf(text)), repairs: ['crlf'] });
  });

  it('comes off the lines of a patch for a file with LF', async () => {
    expect((await forms(crlf(text), { 'x.py': file })).at(1)).toEqual({ text, repairs: ['crlf'] });
  });

  it('stays on the lines of a patch for a file with CR LF', async () => {
    const [first] = await forms(crlf(text), { 'x.py': crlf(file) });
    expect(first).toEqual({ text: unixHeaders(crlf(text)), repairs: ['crlf'] });
  });

  it('stays or comes off file by file, and comes off new files', async () => {
    const added = 'diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n';
    const other = text.replaceAll('x.py', 'y.py');
    const mixed = await forms(crlf(text + other + added), { 'x.py': file, 'y.py': crlf(file) });
    expect(mixed.at(1)?.text).toBe(text + unixHeaders(crlf(other)) + added);
  });

  it('in the lines of a patch whose headers have LF is content', async () => {
    const given = unixHeaders(crlf(text));
    const all = await forms(given, { 'x.py': file });
    expect(all.filter(({ repairs }) => repairs.includes('crlf'))).toEqual([]);
  });
});
