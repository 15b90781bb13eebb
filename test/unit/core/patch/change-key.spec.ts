import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { structuredPatch } from 'diff';
import fc from 'fast-check';
import { changeKey, fingerprint, readPatch } from '../../../../src/core/patch/patch.js';

const keyOf = (text: string): string => {
  const patch = readPatch(text);
  if (patch.kind !== 'ok') throw new Error(JSON.stringify(patch));
  return changeKey(patch);
};
const HEAD = 'diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n';

function diff(before: string, after: string, context: number): string {
  const { hunks } = structuredPatch('x', 'x', before, after, '', '', { context });
  const side = (start: number, count: number): string => `${count === 0 ? start - 1 : start},${count}`;
  return hunks.reduce(
    (text, { oldStart, oldLines, newStart, newLines, lines }) =>
      `${text}@@ -${side(oldStart, oldLines)} +${side(newStart, newLines)} @@\n${lines.join('\n')}\n`,
    HEAD,
  );
}

const file = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', '', '  c'), { minLength: 1, maxLength: 40 }), fc.constantFrom('', '\n'))
  .map(([lines, end]) => lines.join('\n') + end);

it('is the same for one change, however much context its diff shows', () => {
  fc.assert(
    fc.property(file, file, fc.nat(10), fc.nat(10), (before, after, one, other) => {
      fc.pre(before !== after && before !== '' && after !== '');
      expect(keyOf(diff(before, after, one))).toBe(keyOf(diff(before, after, other)));
    }),
  );
});

it('differs where the results differ', () => {
  fc.assert(
    fc.property(fc.tuple(file, file, file), fc.nat(10), fc.nat(10), ([before, after, other], one, two) => {
      fc.pre(new Set([before, after, other, '']).size === 4);
      expect(keyOf(diff(before, after, one))).not.toBe(keyOf(diff(before, other, two)));
    }),
  );
});

it('is the same for what git prints with -U1, -U3, -U10 and -W', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bestk-change-'));
  const source = Array.from({ length: 60 }, (_, n) => (n % 20 === 0 ? `def f${n}():` : `    x = ${n}`));
  const put = (lines: readonly string[]): void => {
    writeFileSync(join(folder, 'x.py'), `${lines.join('\n')}\n`);
  };
  const git = (...argv: string[]): string => spawnSync('git', argv, { cwd: folder, encoding: 'utf8' }).stdout;
  git('init', '-q');
  put(source);
  git('add', '-A');
  put(source.with(5, '    y = 5').with(13, '    y = 13').toSpliced(40, 2));
  const texts = ['-U1', '-U3', '-U10', '-W'].map((context) => git('diff', context));
  expect(new Set(texts).size).toBe(4);
  expect(new Set(texts.map(keyOf)).size).toBe(1);
  rmSync(folder, { recursive: true, force: true });
});

const edit = `${HEAD}@@ -3,3 +3,3 @@\n one\n-two\n+TWO\n three\n`;

it.each([
  ['the place', edit.replace('-3,3 +3,3', '-9,3 +9,3')],
  ['an added line', edit.replace('+TWO', '+TWO ')],
  ['a removed line', edit.replace('-two', '-tow')],
  ['the file', edit.replaceAll('x.py', 'y.py')],
  [
    'the last line feed',
    edit.replace(' three\n', '').replace('3,3 +3,3', '3,2 +3,2') + '\\ No newline at end of file\n',
  ],
])('differs by %s', (_name, other) => {
  expect(keyOf(other)).not.toBe(keyOf(edit));
});

it('does not decide what is executed for what: git may refuse one context and take another', () => {
  const [one, other] = [edit, edit.replace(' three', ' thrice')].map((text) => readPatch(text));
  if (one?.kind !== 'ok' || other?.kind !== 'ok') throw new Error('both are readable');
  expect(changeKey(one)).toBe(changeKey(other));
  expect(fingerprint(one)).not.toBe(fingerprint(other));
});
