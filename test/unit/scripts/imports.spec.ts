import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

const root = join(import.meta.dirname, '../../..');
const IMPORT = /import\s*\{([^}]*)\}\s*from\s*'(\.[^']+)'/g;

/** Names that a script imports from the built program, by the source file that has to export them. */
function importsOf(script: string): { readonly name: string; readonly source: string }[] {
  return [...readFileSync(join(root, script), 'utf8').matchAll(IMPORT)].flatMap(([, names = '', from = '']) => {
    const path = relative(root, join(root, dirname(script), from));
    if (!path.startsWith('dist/')) return [];
    const source = path.replace(/^dist\//, '').replace(/\.js$/, '.ts');
    const imported = names.split(',').map((name) => name.trim().split(' as ')[0] ?? '');
    return imported.filter((name) => name !== '').map((name) => ({ name, source }));
  });
}

function exportsOf(source: string): ReadonlySet<string> {
  const text = [source, `${source}x`].filter((file) => existsSync(join(root, file)));
  const declared = /^export (?:declare |abstract |async )*(?:function\*?|class|const|let|enum) (\w+)/gm;
  const listed = /^export \{([^}]*)\}/gm;
  return new Set(
    text.flatMap((file) => {
      const code = readFileSync(join(root, file), 'utf8');
      const names = [...code.matchAll(listed)].flatMap(([, list = '']) => list.split(',').map((name) => name.trim()));
      return [...[...code.matchAll(declared)].map(([, name = '']) => name), ...names];
    }),
  );
}

// The compiler does not see them, and most are run by hand.
describe('scripts', () => {
  it('import only what the program exports', () => {
    const below = (folder: string) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file));
    const scripts = ['scripts', 'examples'].flatMap(below).filter((file) => file.endsWith('.mjs'));
    const imported = scripts.flatMap((script) => importsOf(script).map((each) => ({ script, ...each })));
    expect(imported.length).toBeGreaterThan(50);
    expect(imported.filter(({ name, source }) => !exportsOf(source).has(name))).toEqual([]);
  });
});
