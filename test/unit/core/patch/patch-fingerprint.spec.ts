import fc from 'fast-check';
import { readPatch, fingerprint } from '../../../../src/core/patch/patch.js';

const NO_END = '\\ No newline at end of file\n';

function print(text: string): string {
  const patch = readPatch(text);
  if (patch.kind !== 'ok') throw new Error(JSON.stringify(patch));
  return fingerprint(patch);
}

function file(path: string, body: string, extended = ''): string {
  return `diff --git a/${path} b/${path}\n${extended}--- a/${path}\n+++ b/${path}\n${body}`;
}

const binary = (data: string): string =>
  `diff --git a/x.bin b/x.bin\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 3\n${data}\n\n`;
const inserted = (at: number): string => file('x.py', `@@ -${at - 1},2 +${at - 1},3 @@\n same\n+new\n same\n`);
const moved = (from: string, to: string): string =>
  `diff --git a/${from} b/${to}\nsimilarity index 100%\nrename from ${from}\nrename to ${to}\n`;

describe('patches that git treats alike', () => {
  const edit = file('x.py', '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n\n');

  it.each([
    ['index lines', file('x.py', '@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n\n', 'index 12..34 100644\n')],
    ['the title of a hunk', edit.replace(' @@\n', ' @@ def f():\n')],
    ['the blank of an empty context line', edit.replace('TWO\n\n', 'TWO\n \n')],
    ['what stands around it', `Subject: x\n\n${edit}\n-- \n2.39.2\n`],
    ['tests beside it', edit + file('tests/test_x.py', '@@ -1 +1 @@\n-a\n+b\n')],
  ])('may differ in %s', (_name, other) => {
    expect(print(other)).toBe(print(edit));
  });

  it('may lack their last line feed', () => {
    expect(print(inserted(5).slice(0, -1))).toBe(print(inserted(5)));
  });

  it('may name their files in any order', () => {
    const parts = ['b.py', 'a.py', 'c/d.py', 'a.pyi'].map((path) => file(path, '@@ -1 +1 @@\n-a\n+b\n'));
    fc.assert(
      fc.property(fc.shuffledSubarray(parts, { minLength: 4 }), (shuffled) => {
        expect(print(shuffled.join(''))).toBe(print(parts.join('')));
      }),
    );
  });
});

describe('patches that git treats differently', () => {
  it.each([
    ['the place of a line', inserted(5), inserted(9)],
    // Where context fits twice, git looks first at the place that the new side names.
    ['the place on the new side', inserted(5), inserted(5).replace('+4,3', '+40,3')],
    ['blanks', inserted(5), inserted(5).replace('+new', '+ new')],
    ['the carriage return of a line', inserted(5), inserted(5).replace('+new', '+new\r')],
    ['the last line feed of the file', file('x', '@@ -1 +1 @@\n-a\n+b\n'), file('x', `@@ -1 +1 @@\n-a\n+b\n${NO_END}`)],
    ['binary contents', binary('Kcmb='), binary('Kcmc=')],
    [
      'modes',
      'diff --git a/x b/x\nold mode 100644\nnew mode 100755\n',
      'diff --git a/x b/x\nold mode 100755\nnew mode 100644\n',
    ],
    ['where a file comes from', moved('a.py', 'c.py'), moved('b.py', 'c.py')],
    ['moving and copying', moved('a.py', 'c.py'), moved('a.py', 'c.py').replaceAll('rename', 'copy')],
    [
      'the order of moves',
      moved('a.py', 'b.py') + moved('b.py', 'c.py'),
      moved('b.py', 'c.py') + moved('a.py', 'b.py'),
    ],
    ['the order of edits of one file', inserted(5) + inserted(9), inserted(9) + inserted(5)],
    [
      'a note that belongs to no hunk',
      file('x', `@@ -1 +1 @@\n-a\n+b\n${NO_END}`),
      file('x', `@@ -1 +1 @@\n-a\n+b\nprose\n${NO_END}`),
    ],
    [
      'an empty file and none',
      'diff --git a/n b/n\nnew file mode 100644\n',
      'diff --git a/n b/n\ndeleted file mode 100644\n',
    ],
  ])('are told apart by %s', (_name, one, other) => {
    expect(print(one)).not.toBe(print(other));
  });
});
