import { h } from 'preact';
import { render } from 'preact-render-to-string';
import { readDiff } from '../../../src/web/run/diff-model.js';
import type { CandidateEvidence } from '../../../src/http/runs/evidence-view.js';
import { patchView } from '../../../src/http/runs/evidence-of-run.js';
import { editOf, FileDiff, gistOf } from '../../../src/web/run/file-diff.js';
import { PatchText } from '../../../src/web/run/patch-tab.js';

function bash(command: string): string {
  return `<function=execute_bash>\n<parameter=command>${command}</parameter>\n</function>`;
}

describe('what an action does to files', () => {
  it.each([
    '<function=file_editor>\n  <parameter=command>str_replace</parameter>',
    '{"name": "str_replace_editor", "arguments": {"command": "create", "path": "/a"}}',
  ])('is told of an editor: %j', (action) => {
    expect(editOf(action)).toBe('edit');
  });

  it.each([
    bash("sed -i 's/a/b/' src/a.py"),
    bash("cd src && sed -ni.bak 's/a/b/p' a.py"),
    bash("cat > a.py <<'EOF'\nx = 1\nEOF"),
    bash("cat <<'EOF' >> a.py\nx = 1\nEOF"),
    bash('echo "x = 1" >a.py'),
    bash('git apply fix.diff'),
    bash('git stash pop'),
    bash('patch -p1 < fix.diff'),
    bash('grep x a.py | tee out.txt'),
    bash("perl -pi -e 's/a/b/' a.py"),
    bash(`python3 -c "open('a.py', 'w').write('x')"`),
    bash("python - <<'EOF'\nfrom pathlib import Path\nPath('a.py').write_text('x')\nEOF"),
    String.raw`{"name": "bash", "arguments": {"command": "cd /repo\nsed -i s/a/b/ a.py"}}`,
  ])('is thought possible of a command: %j', (action) => {
    expect(editOf(action)).toBe('possible edit');
  });

  it.each([
    bash("sed -n '1,20p' src/a.py"),
    bash('grep -rn "sed -i" docs'),
    bash('cat a.py 2>/dev/null'),
    bash('cat a.py > /dev/null'),
    bash('echo done >&2'),
    bash('git status; git diff; git checkout -b fix'),
    bash(`python -c "print(open('a.py').read())"`),
    bash('pytest -q tests'),
    bash('grep -rnE "constructor|__proto__|prototype" lib'),
    '<function=file_editor>\n  <parameter=command>view</parameter>',
    '',
  ])('is not claimed of others: %j', (action) => {
    expect(editOf(action)).toBeNull();
  });

  it('takes time in proportion to its length, whatever the words', () => {
    for (const word of ['cat ', 'sed -', 'open(', '<parameter', '"command" : ', '> ', 'python open(a, ']) {
      expect([word, editOf(word.repeat(50_000))]).toEqual([word, null]);
    }
  });
});

describe('the gist of an action', () => {
  it.each([
    [bash('\n  cd src\npytest'), 'cd src'],
    ['<function=search>\n<parameter=term>add</parameter>\n</function>', 'add'],
    ['', ''],
  ])('of %j is %j', (action, gist) => {
    expect(gistOf(action)).toBe(gist);
  });
});

it('makes the rows of a file once it is opened', () => {
  const [file] = readDiff('--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+uno\n');
  if (file === undefined) throw new Error('no file');
  const page = (isOpen: boolean): string => render(h(FileDiff, { file, role: 'source', isOpen, isWide: false }));
  expect(page(true)).toContain('uno');
  expect(page(false)).toContain('<code>a</code>');
  expect(page(false)).not.toContain('uno');
});

describe('the files of a patch', () => {
  const text = '--- a/tests/test_a.py\n+++ b/tests/test_a.py\n@@ -1 +1 @@\n-one\n+uno\n';
  const pageOf = (patch: CandidateEvidence['patch']): string =>
    render(h(PatchText, { text, candidate: { patch } as CandidateEvidence, isWide: false }));

  it('are marked if they are set apart, or if the service lists no file of that name', () => {
    expect(pageOf(patchView(text))).toContain('test file: set apart');
    const renamed = pageOf(patchView(text.replaceAll('test_a', 'test_b')));
    expect(renamed).toContain('role unknown');
    expect(renamed).not.toContain('too large');
  });

  it('are not marked if the patch is too large to be listed, which is said', () => {
    const page = pageOf(patchView(text + '#'.repeat(256 * 1024)));
    expect(page).toContain('which files are set apart is not shown');
    expect(page).not.toContain('role unknown');
  });
});
