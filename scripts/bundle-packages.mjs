// Puts the packages that weigh most into dist, as far as it imports them: an install is half as large and asks for
// nothing optional afterwards. They are development dependencies, for the build alone needs them.
import { cpSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { build } from 'vite';

/** Plain JavaScript all of it: what has native parts, or reads files of its own, is installed. */
export const BUNDLED = [
  '@kubernetes/client-node',
  '@modelcontextprotocol/sdk',
  'gpt-tokenizer',
  'openai',
  'tar-stream',
  'vega',
  'vega-lite',
];

/** One font of its package's twenty, for plots. */
const FONT = 'node_modules/dejavu-fonts-ttf/ttf/DejaVuSans.ttf';

/** As the compiler writes an import of a package, with the names that are taken where they are listed. */
const IMPORT = /(?:\{([^{}]*)\} (?:= await )?)?\b(?:from |import\()'([^.'/][^']*)'(?:;$|\))/gm;
const FACADE = '\0facade:';

/** @param {string} root of the repository, whose dist is compiled */
export async function bundlePackages(root) {
  const dist = join(root, 'dist');
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const imports = filesOf(dist).flatMap((file) => importsIn(file, dependencies));
  const folders = await bundle(root, imports, dependencies);
  cpSync(join(root, FONT), join(dist, 'packages', basename(FONT)));
  writeFileSync(join(dist, 'packages/LICENSES.txt'), licensesOf([...folders, dirname(dirname(join(root, FONT)))]));
  for (const file of new Set(imports.map(({ file }) => file))) {
    const text = readFileSync(file, 'utf8').replace(IMPORT, (whole, _, specifier) => {
      if (!BUNDLED.includes(packageOf(specifier))) return whole;
      return whole.replace(specifier, relative(dirname(file), join(dist, 'packages', `${moduleOf(specifier)}.js`)));
    });
    writeFileSync(file, text);
  }
}

function filesOf(dist) {
  return ['src', 'verifiers'].flatMap((room) =>
    readdirSync(join(dist, room), { recursive: true })
      .filter((name) => name.endsWith('.js') && !name.startsWith('web-assets'))
      .map((name) => join(dist, room, name)),
  );
}

/** What a file imports that is bundled. @throws {Error} for what no install would have */
function importsIn(file, dependencies) {
  const imports = [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, names, specifier]) => ({
    file,
    specifier,
    names: names?.split(',').map((name) => name.trim().split(/ as |: /)[0]),
  }));
  return imports.filter(({ specifier }) => {
    const name = packageOf(specifier);
    if (!isBuiltIn(specifier) && !BUNDLED.includes(name) && dependencies[name] === undefined)
      throw new Error(`${file} imports ${specifier}: add ${name} to "dependencies", or to BUNDLED`);
    return BUNDLED.includes(name);
  });
}

const isBuiltIn = (specifier) => specifier.startsWith('node:') || builtinModules.includes(specifier);
const packageOf = (specifier) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
const moduleOf = (specifier) => specifier.replace(/\.js$/, '');

/** Writes a module for each specifier and what they share, and gives the folders of the packages that went into them. */
async function bundle(root, imports, dependencies) {
  const outDir = join(root, 'dist/packages');
  const input = Object.fromEntries(imports.map(({ specifier }) => [moduleOf(specifier), FACADE + specifier]));
  const { output } = await build({
    configFile: false,
    root,
    logLevel: 'warn',
    ssr: { noExternal: true, target: 'node' },
    plugins: [facades(imports), installedPackages(root, dependencies)],
    build: {
      ssr: true,
      outDir,
      target: 'node20',
      minify: false,
      copyPublicDir: false,
      rollupOptions: {
        input,
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: '[name].js', chunkFileNames: 'shared/[name]-[hash].js' },
      },
    },
  });
  const modules = output.flatMap((chunk) => Object.keys(chunk.modules ?? {}));
  const folder = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/;
  return [...new Set(modules.flatMap((id) => folder.exec(id)?.[0] ?? []))].sort();
}

/** A module exports what is taken from it, else all that Node finds in it, of CommonJS too. */
function facades(imports) {
  return {
    name: 'facades',
    resolveId: (id) => (id.startsWith(FACADE) ? id : null),
    async load(id) {
      if (!id.startsWith(FACADE)) return null;
      const specifier = id.slice(FACADE.length);
      const taken = imports.filter((each) => each.specifier === specifier).flatMap(({ names }) => names ?? null);
      const names = taken.includes(null) ? Object.keys(await import(specifier)) : taken;
      const some = new Set(names.filter((name) => name !== 'module.exports'));
      return `export { ${[...some].join(', ')} } from '${specifier}';`;
    },
  };
}

/** What an install has anyway is imported from there: zod's schemas, for one, have to be of the same zod. */
function installedPackages(root, dependencies) {
  const installed = realpathSync(join(root, 'node_modules'));
  return {
    name: 'installed-packages',
    enforce: 'pre',
    async resolveId(id, importer) {
      if (isBuiltIn(id)) return { id, external: true };
      const name = packageOf(id);
      if (dependencies[name] === undefined) return null;
      const found = await this.resolve(id, importer, { skipSelf: true });
      return found?.id.startsWith(join(installed, name, '/')) ? { id, external: true } : null;
    },
  };
}

function licensesOf(folders) {
  const texts = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    const text = file === undefined ? '' : readFileSync(join(folder, file), 'utf8').trim();
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}
