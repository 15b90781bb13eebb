import { fingerprint, type ReadablePatch, readPatch, splitPatch } from '../../../../src/core/patch/patch.js';

const EDIT = `diff --git a/y.py b/y.py\n--- a/y.py\n+++ b/y.py\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n`;

function readable(text: string): ReadablePatch {
  const patch = readPatch(text);
  if (patch.kind !== 'ok') throw new Error(JSON.stringify(patch));
  return patch;
}

describe('source that a patch renames to what is set apart', () => {
  it.each([
    ['tests/test_x.py', ''],
    ['tests/x.py', '--- a/x.py\n+++ b/tests/x.py\n@@ -1 +1 @@\n-a\n+rename to tests/x.py\n'],
    ['conftest.py', ''],
  ])('takes source away that becomes %s, as the patch that is returned does', (path, hunk) => {
    const moved = `diff --git a/x.py b/${path}\nsimilarity index 90%\nrename from x.py\nrename to ${path}\n${hunk}`;
    const { source } = splitPatch(readable(EDIT + moved));
    const [, gone] = readable(source).files;
    expect(gone).toMatchObject({ role: 'source', paths: ['x.py', 'x.py.taken-away-by-patch'] });
    expect(gone?.parsed.hunks).toEqual(readable(moved).files[0]?.parsed.hunks);
    expect(gone?.text.includes('+rename to tests/x.py\n')).toBe(hunk !== '');
    const alone = fingerprint(readable(EDIT));
    expect(fingerprint(readable(EDIT + moved))).not.toBe(alone);
  });

  it('says how to write such a rename where its names are quoted', () => {
    const moved =
      'diff --git a/x.py "b/tests/\\303\\251.py"\nsimilarity index 90%\nrename from x.py\nrename to "tests/\\303\\251.py"\n';
    expect(readPatch(moved)).toMatchObject({
      kind: 'refused',
      detail: expect.stringContaining('--no-renames') as string,
    });
  });
});
