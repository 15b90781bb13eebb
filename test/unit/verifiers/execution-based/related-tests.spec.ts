import { expectLinear, LINEAR_MS } from '../../../fixtures/linear-time.js';
import { relatedTests, holdsTests } from '../../../../verifiers/execution-based/existing/related-tests.js';

const patchOf = (path: string, context = ''): string =>
  `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@${context}\n-a\n+b\n`;

interface Repository {
  readonly all: readonly string[];
  /** Files that define tests; absent = all. */
  readonly defining?: readonly string[];
  /** By the name that is looked for; of some, how many of their lines hold it. */
  readonly holding?: Readonly<Record<string, readonly string[] | Readonly<Record<string, number>>>>;
  /** Other files: their text. */
  readonly texts?: Readonly<Record<string, string>>;
}

const NAMES_OF_LINES = /^[mw] /;

/** Plays git in a repository of these files. */
async function related(
  { all, defining = all, holding = {}, texts = {} }: Repository,
  ...sources: readonly string[]
): Promise<{ files: readonly string[]; names: readonly string[] }> {
  let names: readonly string[] = [];
  const grouped = (groups: readonly (readonly string[])[]): string =>
    groups.map((group) => `#\n${group.map((row) => `${row}\n`).join('')}`).join('');
  const linesWith = (name: string): string[] =>
    Object.entries(texts).flatMap(([path, text]) =>
      text.split('\n').flatMap((line, index) => (line.includes(name) ? [`${path}:${index + 1}:${line}`] : [])),
    );
  const holdingOf = (name: string): string[] => {
    const known = holding[name] ?? [];
    const counts = Array.isArray(known) ? known.map((path: string) => [path, 1] as const) : Object.entries(known);
    return counts.map(([path, count]) => `${count} ${path}`);
  };
  const base = {
    text: async (path: string): Promise<string | null> => texts[path] ?? null,
    ask: async (_script: string, { lines = [] }: { lines?: readonly string[] }): Promise<string> => {
      if (lines.length > 0 && !lines.every((line) => NAMES_OF_LINES.test(line))) return grouped(lines.map(linesWith));
      names = lines;
      return grouped([all, defining, ...lines.map((line) => holdingOf(line.slice(2)))]);
    },
  };
  const patches = sources.map((source) => ({ source }));
  return { files: await relatedTests(base, { patches, language: null }, new AbortController().signal), names };
}

describe('existing tests near a patch', () => {
  it(
    'are looked for in linear time',
    () => {
      expectLinear(
        (text) => void related({ all: [] }, `${patchOf('a.go')}${text}`),
        ['func (', 'class ', 'def a', 'fn (a) '],
      );
    },
    LINEAR_MS,
  );

  it('are named after the changed file, import it, or lie beside it, in this order', async () => {
    const all = [
      'tests/formsets/test_formsets.py',
      'tests/other/test_widgets.py',
      'app/forms/tests/test_x.py',
      'tests/far.py',
    ];
    const holding = { 'app.forms.formsets': ['tests/other/test_widgets.py'] };
    const { files, names } = await related({ all, holding }, patchOf('app/forms/formsets.py'));
    expect(names).toEqual(['m app.forms.formsets']);
    expect(files).toEqual([
      'tests/formsets/test_formsets.py',
      'app/forms/tests/test_x.py',
      'tests/other/test_widgets.py',
    ]);
  });

  it('are never the helpers beside them, whatever a fix in a models.py is called', async () => {
    const apps = Array.from({ length: 10 }, (_, n) => `tests/app_${n}`);
    const all = [
      ...apps.map((app) => `${app}/models.py`),
      'tests/app_3/tests.py',
      'tests/conftest.py',
      'tests/app_1/urls.py',
    ];
    const source = 'django/contrib/auth/models.py';
    const { files } = await related(
      { all, defining: all, holding: { 'django.contrib.auth.models': all } },
      patchOf(source),
    );
    expect(files).toEqual(['tests/app_3/tests.py']);
  });

  it('hold what changes: classes and functions that a patch touches are looked for as words', async () => {
    const all = ['tests/a/tests.py', 'tests/b/tests.py'];
    const { files, names } = await related(
      { all, holding: { ManageCommand: ['tests/b/tests.py'] } },
      patchOf('app/core.py', ' class ManageCommand(Base):'),
    );
    expect(names).toEqual(['m app.core', 'w ManageCommand']);
    expect(files).toEqual(['tests/b/tests.py']);
  });

  it('call what calls the code that changes: every third file is one that does so most', async () => {
    const texts = {
      'app/query.py': 'class Query:\n    def add_deferred(self):\n        a\n',
      'app/sets.py': 'class QuerySet:\n    def defer(self):\n        self.query.add_deferred()\n',
    };
    const all = ['a', 'b', 'c']
      .map((name) => `tests/query_${name}/tests.py`)
      .concat('tests/defer/tests.py', 'tests/d.py');
    const holding = { defer: { 'tests/defer/tests.py': 27, 'tests/d.py': 2 } };
    const source = patchOf('app/query.py').replace('-1 +1', '-3 +3').replace('-a\n+b', '-        a\n+        b');
    const { files, names } = await related({ all, texts, holding }, source);
    expect(names).toEqual(['m app.query', 'w add_deferred', 'w defer']);

    expect(files.indexOf('tests/defer/tests.py')).toBeLessThan(3);
  });

  it('follow what most patches change, not the odd one out', async () => {
    const all = ['tests/test_odd.py', 'tests/test_core.py'];
    const core = patchOf('app/core.py');
    const { files } = await related({ all }, core, core, core + patchOf('app/odd.py'));
    expect(files).toEqual(['tests/test_core.py', 'tests/test_odd.py']);
  });

  it('are not pushed out by files and names that base lacks, however many a patch brings', async () => {
    const brought = Array.from({ length: 42 }, (_, n) => {
      const path = `a/a${n}.py`;
      return `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+def aaaa${n}(): pass\n`;
    }).join('');
    const all = ['tests/test_m00.py', 'tests/test_m59.py'];
    const both = patchOf('pkg/m00.py') + patchOf('pkg/m59.py', ' def broken(x):');
    const { files, names } = await related({ all }, patchOf('pkg/m00.py'), brought + both);
    expect(names).toEqual(['m pkg.m00', 'm pkg.m59', 'w broken']);
    expect(files).toEqual(all);
    expect((await related({ all: [] }, brought)).names).toHaveLength(53);
  });

  it('are not pushed out by the many files that another patch changes', async () => {
    const many = Array.from({ length: 60 }, (_, n) => `pkg/a${n}.py`);
    const all = [...many.map((path) => path.replace('pkg/', 'tests/test_')), 'tests/test_core.py'];
    const { files, names } = await related({ all }, many.map((path) => patchOf(path)).join(''), patchOf('pkg/core.py'));
    expect(files[0]).toBe('tests/test_core.py');
    expect(names).toContain('m pkg.core');
  });

  it('of a small part of the patches are looked for, too: some files of each', async () => {
    const many = Array.from({ length: 50 }, (_, n) => patchOf(`pkg/a${n}.py`));
    const { names } = await related({ all: [] }, ...many, patchOf('pkg/core.py') + patchOf('pkg/more.py'));
    expect(names).toEqual(expect.arrayContaining(['m pkg.core', 'm pkg.more']));
  });

  it('count less when everybody imports the changed file', async () => {
    const common = Array.from({ length: 60 }, (_, n) => `tests/test_${n}.py`);
    const holding = { base: common, rare: ['tests/test_59.py'] };
    const { files } = await related({ all: common, holding }, patchOf('base.py') + patchOf('rare.py'));
    expect(files).toHaveLength(25);
    expect(files[0]).toBe('tests/test_59.py');
  });

  it.each([
    ['a package', 'pkg/__init__.py', 'pkg'],
    ['a source folder', 'src/pkg/core.py', 'pkg.core'],
    ['Go', 'internal/parse/parse.go', 'internal/parse'],
    ['JavaScript', 'lib/parse.js', 'parse'],
  ])('are looked for as %s is imported', async (_name, path, module) => {
    expect((await related({ all: [] }, patchOf(path))).names).toEqual([`m ${module}`]);
  });

  it('are none when nothing is close, or no patch changes a file', async () => {
    expect((await related({ all: ['tests/test_far.py'] }, patchOf('app/core.py'))).files).toEqual([]);
    expect((await related({ all: ['tests/test_far.py'] })).files).toEqual([]);
  });
});

describe('a file of tests', () => {
  const tests = [
    'a/test_x.py',
    'a/tests.py',
    'tests/fixtures/tests.py',
    'x_test.go',
    'src/a.spec.ts',
    '__tests__/a.js',
    'FooTest.java',
    'spec/a_spec.rb',
  ];
  const none = [
    'tests/a/models.py',
    'tests/conftest.py',
    'tests/a/__init__.py',
    'tests/a/admin.py',
    'a/latest.py',
    'tests/runtests.py',
    'tests/data/test_sample.py',
    'tests/roots/test-ext/test_x.py',
    'testing/example_scripts/test_x.py',
    'pkg/testdata/x_test.go',
    'test/fixtures/a.test.js',
  ];

  it.each(tests)('is told by its name: %s', (path) => {
    expect(holdsTests(path, new Set(path.endsWith('.py') ? [path] : []))).toBe(true);
  });

  it.each(none)('is not %s', (path) => {
    expect(holdsTests(path, new Set(path.endsWith('runtests.py') ? [] : [path]))).toBe(false);
  });

  it('of Python defines some: a command that is called test.py has none', () => {
    expect(holdsTests('app/management/commands/test.py', new Set())).toBe(false);
  });

  it('is any other among tests that defines some', () => {
    expect(holdsTests('testing/python/collect.py', new Set(['testing/python/collect.py']))).toBe(true);
    expect(holdsTests('app/python/collect.py', new Set(['app/python/collect.py']))).toBe(false);
  });
});
