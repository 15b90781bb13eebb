import { exited, FakeSandbox } from '../../../fakes/fake-sandbox.js';
import { calculatorIssue } from '../../../fixtures/calculator.js';
import { relatedTests } from '../../../../verifiers/execution-based/existing/related-tests.js';

const patchOf = (path: string): string =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-a\n+b\n`;
const patch = (path: string): { representative: string; candidateIds: string[]; source: string } => ({
  representative: path,
  candidateIds: [path],
  source: patchOf(path),
});

/** A repository of these test files; `holding` answers git grep by the name that is looked for. */
async function related(
  all: readonly string[],
  holding: Readonly<Record<string, readonly string[]>>,
  ...changed: readonly string[]
): Promise<{ files: readonly string[]; names: readonly string[] }> {
  let names: readonly string[] = [];
  const sandbox = new FakeSandbox((request) => {
    names = Buffer.from(request.stdin ?? '')
      .toString()
      .split('\n')
      .filter(Boolean);
    const groups = [all, ...names.map((name) => holding[name] ?? [])];
    return exited(0, groups.map((group) => `#\n${group.map((path) => `${path}\n`).join('')}`).join(''));
  });
  const files = await relatedTests(
    { sandbox, issue: calculatorIssue },
    changed.map(patch),
    new AbortController().signal,
  );
  return { files, names };
}

describe('existing tests near a patch', () => {
  it('are named after the changed file, import it, or lie beside it, in this order', async () => {
    const all = [
      'tests/forms/test_formsets.py',
      'tests/forms/test_widgets.py',
      'app/forms/tests/test_x.py',
      'tests/other.py',
    ];
    const holding = { 'app.forms.formsets': ['tests/forms/test_widgets.py'] };
    const { files, names } = await related(all, holding, 'app/forms/formsets.py');
    expect(names).toEqual(['app.forms.formsets']);
    expect(files).toEqual(['tests/forms/test_formsets.py', 'tests/forms/test_widgets.py', 'app/forms/tests/test_x.py']);
  });

  it('count less when everybody imports the changed file', async () => {
    const common = Array.from({ length: 25 }, (_, n) => `tests/test_${n}.py`);
    const { files } = await related(common, { base: common, rare: ['tests/test_24.py'] }, 'base.py', 'rare.py');
    expect(files).toHaveLength(10);
    expect(files[0]).toBe('tests/test_24.py');
  });

  it.each([
    ['a package', 'pkg/__init__.py', 'pkg'],
    ['a source folder', 'src/pkg/core.py', 'pkg.core'],
    ['Go', 'internal/parse/parse.go', 'internal/parse'],
    ['JavaScript', 'lib/parse.js', 'parse'],
  ])('are looked for as %s is imported', async (_name, path, module) => {
    expect((await related([], {}, path)).names).toEqual([module]);
  });

  it('are none when nothing is close, or no patch changes a file', async () => {
    expect((await related(['tests/test_far.py'], {}, 'app/core.py')).files).toEqual([]);
    expect((await related(['tests/test_far.py'], {})).files).toEqual([]);
  });
});
