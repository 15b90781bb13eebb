import { patchView } from '../../../src/http/runs/evidence-of-run.js';
import { changedSpans, readDiff, sideBySide, highlight, marked } from '../../../src/web/run/diff-model.js';
import { behaviourLetters } from '../../../src/web/run/cell-panel.js';
import { linkTo, readRoute } from '../../../src/web/route.js';
import { visible } from '../../../src/web/format.js';

describe('visible', () => {
  it.each([
    ['colours go', '\u001b[1;31mred\u001b[0m', 'red'],
    ['other escapes are spelled out', 'a\u001b]0;title\u0007b', 'a␛]0;title␇b'],
    ['line ends are one', 'a\r\nb\rc', 'a\nb␍c'],
    ['what reorders or hides is named', 'a\u202Eb\u200Bc\u{E0041}', 'a⟨U+202E⟩b⟨U+200B⟩c⟨U+E0041⟩'],
    ['other controls too', '\u0000\u007f\u0085\u2028', '␀␡⟨U+0085⟩⟨U+2028⟩'],
    ['the rest stays', 'a\tb\nü 漢字 <b>', 'a\tb\nü 漢字 <b>'],
  ])('%s', (_, text, expected) => {
    expect(visible(text)).toBe(expected);
  });

  it('takes linear time on text that is made to be slow', () => {
    const text = '\u001b['.repeat(200_000);
    expect(visible(text)).toHaveLength(text.length);
  });
});

describe('readDiff', () => {
  const PATCH = [
    'diff --git a/a.py b/b.py',
    'similarity index 90%',
    'rename from a.py',
    'rename to b.py',
    '--- a/a.py',
    '+++ b/b.py',
    '@@ -1,3 +1,3 @@ def f():',
    ' x',
    '--- a/looks like a header',
    '+y',
    ' z',
    'diff --git a/i.png b/i.png',
    'GIT binary patch',
    'literal 5',
  ].join('\n');

  it('reads names, notes, hunks by their counts, and binary files', () => {
    const [first, second, ...none] = readDiff(PATCH);
    expect(first).toMatchObject({ name: 'b.py', binary: false });
    expect(first?.notes).toEqual(['similarity index 90%', 'rename from a.py', 'rename to b.py']);
    expect(first?.hunks[0]?.lines.map(({ sign, text, before, after }) => [sign, text, before, after])).toEqual([
      [' ', 'x', 1, 1],
      ['-', '-- a/looks like a header', 2, null],
      ['+', 'y', null, 2],
      [' ', 'z', 3, 3],
    ]);
    expect(second).toMatchObject({ name: 'i.png', binary: true, hunks: [] });
    expect(none).toEqual([]);
  });

  it('reads what is there of a diff that is cut off, and nothing of what is none', () => {
    expect(readDiff(PATCH.slice(0, PATCH.indexOf('+y')))[0]?.hunks[0]?.lines).toHaveLength(3);
    expect(readDiff('no diff at all')).toEqual([]);
    expect(readDiff('@@ nonsense @@\n+a')).toEqual([]);
  });

  it('begins files where the service does, and calls them by the same names', () => {
    const text = [
      'Subject: fix',
      '--- a note before the patch',
      'diff --git "a/t\\303\\244st.py" "b/t\\303\\244st.py"',
      'deleted file mode 100644',
      '--- "a/t\\303\\244st.py"',
      '+++ /dev/null',
      '@@ -1 +0,0 @@',
      '-x',
      '--- a/test_b.py\t2026-01-01',
      '+++ b/test_b.py\t2026-01-01',
      '@@ -1 +1 @@',
      '-x',
      '+y',
      '',
    ].join('\n');
    const names = readDiff(text).map(({ name }) => name);
    expect(names).toEqual(['täst.py', 'test_b.py']);
    expect(patchView(text).files.map(({ path }) => path)).toEqual(names);
  });

  it.each([
    [
      'a patch with CRLF line ends',
      'diff --git a/tests/test_a.py b/tests/test_a.py\r\n--- a/tests/test_a.py\r\n+++ b/tests/test_a.py\r\n' +
        '@@ -1 +1 @@\r\n-x\r\n+y\r\n',
      'tests/test_a.py',
    ],
    [
      'quotation marks',
      String.raw`diff --git "a/tests/test_\"a%41.py" "b/tests/test_\"a%41.py"` +
        String.raw`|--- "a/tests/test_\"a%41.py"|+++ "b/tests/test_\"a%41.py"|@@ -1 +1 @@|-x|+y|`.replaceAll('|', '\n'),
      'tests/test_"a%41.py',
    ],
    [
      'a deletion with mnemonic prefixes',
      'diff --git i/tests/test_a.py w/tests/test_a.py\ndeleted file mode 100644\n--- i/tests/test_a.py\n+++ /dev/null\n' +
        '@@ -1 +0,0 @@\n-x\n',
      'tests/test_a.py',
    ],
    [
      'a deletion below a folder whose name ends in a space and b',
      'diff --git a/a b/test_a.py b/a b/test_a.py\ndeleted file mode 100644\n--- a/a b/test_a.py\n+++ /dev/null\n' +
        '@@ -1 +0,0 @@\n-x\n',
      'a b/test_a.py',
    ],
  ])('calls files by the same names as the service: %s', (_, text, name) => {
    expect(patchView(text)).toMatchObject({ problem: null, files: [{ path: name }] });
    expect(readDiff(text).map((file) => file.name)).toEqual([name]);
  });

  it('takes no line before the first file for one of its own', () => {
    expect(readDiff('rename the helper\ncopy it, too\nBinary files are left\n')).toEqual([]);
  });

  it('sets what a line became beside it', () => {
    const lines = readDiff('--- a/a\n+++ b/a\n@@ -1,3 +1,2 @@\n-one\n-two\n+uno\n three')[0]?.hunks[0]?.lines ?? [];
    const texts = sideBySide(lines).map((pair) => pair.map((line) => line?.text ?? null));
    expect(texts).toEqual([
      ['one', 'uno'],
      ['two', null],
      ['three', 'three'],
    ]);
  });

  it('marks what changed in a line, where enough of it stayed', () => {
    expect(changedSpans('  return a - b', '  return a + b')).toEqual([
      [11, 12],
      [11, 12],
    ]);
    expect(changedSpans('        one', '        two')).toBeNull();
  });
});

describe('highlight', () => {
  it('tells keywords, strings, numbers and comments apart, and loses nothing', () => {
    const line = '    return "a # b" + 1  # why';
    const pieces = highlight(line, 'a.py');
    expect(pieces.map(({ text }) => text).join('')).toBe(line);
    expect(pieces.filter(({ kind }) => kind !== '').map(({ text, kind }) => [kind, text])).toEqual([
      ['keyword', 'return'],
      ['string', '"a # b"'],
      ['number', '1'],
      ['comment', '# why'],
    ]);
    const cut = marked(pieces, [4, 10]);
    expect(cut.filter(({ changed }) => changed).map(({ text }) => text)).toEqual(['return']);
    expect(cut.map(({ text }) => text).join('')).toBe(line);
  });

  it('leaves prose and very long lines alone', () => {
    expect(highlight('return to sender', 'a.md')).toHaveLength(1);
    expect(highlight(`return ${'x'.repeat(2_000)}`, 'a.py')).toHaveLength(1);
  });
});

describe('routes', () => {
  it('carry ids of any letters', () => {
    const id = 'b/2 ?#%"<';
    const { parts, query } = readRoute(linkTo(['runs', id, 'candidates', id], { tab: id }));
    expect(parts).toEqual(['runs', id, 'candidates', id]);
    expect(query.get('tab')).toBe(id);
    expect(readRoute('#/runs/%E0%A4%A').parts).toEqual(['runs', '%E0%A4%A']);
  });
});

it('gives every class of behaviour a letter of its own', () => {
  const behaviours = Array.from({ length: 30 }, (_, n) => ({ solved: [], candidate_ids: [`c${n}`], told: [] }));
  const letters = [...behaviourLetters(behaviours).values()];
  expect(new Set(letters).size).toBe(30);
  expect(letters.slice(24, 28)).toEqual(['Y', 'Z', 'A1', 'B1']);
});
