import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { structuredPatch } from 'diff';
import fc from 'fast-check';
import { repairForBase } from '../../../../src/core/patch/repair-for-base.js';

const HEAD = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n';
const folder = mkdtempSync(join(tmpdir(), 'bestk-fuzz-'));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The file after git applied a patch; null if it refuses it. */
function afterGit(text: string, base: string): string | null {
  writeFileSync(join(folder, 'x'), base);
  const { status } = spawnSync('git', ['apply', '-'], { cwd: folder, input: text });
  return status === 0 ? readFileSync(join(folder, 'x'), 'utf8') : null;
}

/** What becomes of the file, and with which fuzz. */
async function applied(hunks: string, base: string): Promise<{ text: string; fuzz: string | null } | null> {
  const strict = afterGit(HEAD + hunks, base);
  if (strict !== null) return { text: strict, fuzz: null };
  const [form] = await repairForBase({ text: HEAD + hunks, repairs: [] }, async () => base);
  const text = form === undefined ? null : afterGit(form.text, base);
  return text === null ? null : { text, fuzz: form?.repairs.join(' ') ?? '' };
}

const lines = (...all: readonly (string | number)[]): string => all.map((line) => `${line}\n`).join('');
const HUNK = '@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n';

it.each([
  ['0 where the first lines of a file come later', [0, 0, 1, 2, 3, 4, 5, 6, 7], 'fuzz-0'],
  ['1 where the outermost line differs', ['x', 2, 3, 4, 5, 6, 7], 'fuzz-1'],
  ['1 where both outermost lines differ', ['x', 2, 3, 4, 5, 6, 'x'], 'fuzz-1'],
  ['2 where two lines differ on one side', [1, 2, 3, 4, 5, 'x', 'x'], 'fuzz-2'],
  ['3 where no context is the same', ['x', 'x', 'x', 4, 'x', 'x', 'x'], 'fuzz-3'],
  ['1 elsewhere', [0, 0, 0, 'x', 2, 3, 4, 5, 6, 7], 'fuzz-1'],
])('needs a fuzz of %s', async (_name, base, fuzz) => {
  const after = lines(...base).replace('\n4\n', '\nfour\n');
  expect(await applied(HUNK, lines(...base))).toEqual({ text: after, fuzz });
});

it('needs none where git finds the place itself', async () => {
  const hunk = HUNK.replace('-1,7 +1,7', '-9,7 +9,7');
  expect(await applied(hunk, lines(0, 1, 2, 3, 4, 5, 6, 7))).toMatchObject({ fuzz: null });
});

it.each([
  ['a removed line is not there', lines(1, 2, 3, 'x', 5, 6, 7)],
  ['context next to the change differs and no context is left', lines(1, 2, 3, 5, 6, 7)],
  ['the file has the change already', lines(1, 2, 3, 'four', 5, 6, 7)],
  ['there is no file', ''],
])('applies nothing if %s', async (_name, base) => {
  expect(await applied(HUNK, base)).toBeNull();
});

it('takes the nearest of several places', async () => {
  const base = lines('x', 'a', 'b', 'x', 0, 0, 0, 'x', 'a', 'b', 'x');
  const hunk = '@@ -8,4 +8,4 @@\n y\n a\n-b\n+B\n y\n';
  const after = lines('x', 'a', 'b', 'x', 0, 0, 0, 'x', 'a', 'B', 'x');
  expect(await applied(hunk, base)).toEqual({ text: after, fuzz: 'fuzz-2' });
});

it('finds the place of hunks without context, which git refuses', async () => {
  expect(await applied('@@ -2 +2 @@\n-2\n+two\n', lines(1, 2, 3))).toEqual({
    text: lines(1, 'two', 3),
    fuzz: 'fuzz-0',
  });
});

it('keeps a file without a last line feed as it is', async () => {
  const hunk = '@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n';
  expect(await applied(hunk, '1\n2\n3')).toEqual({ text: '1\ntwo\n3', fuzz: 'fuzz-1' });
});

it('takes no time on hunks that could be anywhere', async () => {
  const hunk = `@@ -1,1001 +1,1000 @@\n${' a\n'.repeat(1000)}-b\n`;
  const forms = await repairForBase({ text: HEAD + hunk.repeat(200), repairs: [] }, async () => 'a\n'.repeat(200_000));
  expect(forms).toEqual([]);
});

it.each([
  ['beyond the end of the file', 999_999_999_999],
  ['before it, after a hunk that was found far from its place', 1],
])('takes no time on a hunk that names a line far %s', async (_where, line) => {
  const found = '@@ -999999999999,2 +999999999999,2 @@\n 1\n-2\n+two\n';
  const lost = `@@ -${line},2 +${line},2 @@\n nowhere\n-x\n+y\n`;
  expect(await repairForBase({ text: HEAD + found + lost, repairs: [] }, async () => lines(1, 2, 3))).toEqual([]);
});

it('reads a file once, however many sections are about it', async () => {
  const section = `${HEAD}@@ -1,2 +1,2 @@\n nowhere\n-x\n+y\n`;
  const read: string[] = [];
  const forms = await repairForBase({ text: section.repeat(2_000), repairs: [] }, async (path) => {
    read.push(path);
    return 'a line\n'.repeat(100_000);
  });
  expect([forms, read]).toEqual([[], ['x']]);
});

const gnu = spawnSync('patch', ['--version'], { encoding: 'utf8' });
const withGnuPatch = gnu.status === 0 && gnu.stdout.startsWith('GNU patch') ? it : it.skip;

withGnuPatch('does what GNU patch does with a fuzz of up to 5', async () => {
  const line = fc.integer({ min: 0, max: 9 }).map((n) => `l${n}`);
  const file = fc.array(line, { minLength: 3, maxLength: 25 });
  const edits = fc.array(fc.tuple(fc.nat(30), fc.nat(2), line), { minLength: 1, maxLength: 3 });
  const edited = (text: readonly string[], changes: readonly (readonly [number, number, string])[]): string[] => {
    const after = [...text];
    for (const [at, removed, put] of changes) after.splice(Math.min(at, after.length - 1), removed, put);
    return after;
  };
  const property = fc.asyncProperty(file, edits, edits, fc.nat(4), async (base, fix, drift, context) => {
    const { hunks } = structuredPatch('x', 'x', lines(...base), lines(...edited(base, fix)), '', '', { context });
    const side = (start: number, count: number): string => `${count === 0 ? start - 1 : start},${count}`;
    const text = hunks.map(
      (hunk) =>
        `@@ -${side(hunk.oldStart, hunk.oldLines)} +${side(hunk.newStart, hunk.newLines)} @@\n${lines(...hunk.lines)}`,
    );
    const target = lines(...edited(base, drift));
    fc.pre(text.length > 0 && afterGit(HEAD + text.join(''), target) === null);
    const own = await applied(text.join(''), target);
    writeFileSync(join(folder, 'x'), target);
    writeFileSync(join(folder, 'p'), HEAD + text.join(''));
    const { status } = spawnSync('patch', ['--batch', '--forward', '--fuzz=5', '-p1', '-i', 'p'], { cwd: folder });
    expect(own?.text ?? null).toBe(status === 0 ? readFileSync(join(folder, 'x'), 'utf8') : null);
  });
  await fc.assert(property, { numRuns: 60 });
});
