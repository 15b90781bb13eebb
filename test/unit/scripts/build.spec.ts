import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
}

const MOST_BYTES = 150 * 1024 ** 2;

it('leaves a program that a link to it can be run as', () => {
  const { status, stdout } = spawnSync('dist/src/cli.js', ['--version'], { encoding: 'utf8' });
  expect(stdout).toMatch(/^\d+\.\d+\.\d+/);
  expect(status).toBe(0);
});

it('is the one that nest-cli.json describes', () => {
  const read = (file: string): unknown => JSON.parse(readFileSync(file, 'utf8'));
  const { sourceRoot, entryFile, compilerOptions } = read('nest-cli.json') as {
    sourceRoot: string;
    entryFile: string;
    compilerOptions: { deleteOutDir: boolean; tsConfigPath: string; assets: { include: string }[] };
  };
  const { scripts } = read('package.json') as { scripts: Record<string, string> };
  const program = readFileSync(/^node (\S+)$/.exec(scripts.build ?? '')?.[1] ?? '', 'utf8');
  expect(program).toContain(`'-p', '${compilerOptions.tsConfigPath}'`);
  expect(program.includes("rmSync(join(root, 'dist'), { recursive: true")).toBe(compilerOptions.deleteOutDir);
  expect(scripts.start).toBe(`node dist/${entryFile}.js`);
  expect([`${sourceRoot}/${entryFile}.ts`, `dist/${entryFile}.js`].map((file) => existsSync(file))).toEqual([
    true,
    true,
  ]);
  const pages = (folder: string): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  expect(compilerOptions.assets.map(({ include }) => include)).toEqual(['prompts/**/*.md']);
  expect(pages('dist/prompts').toSorted()).toEqual(pages('prompts').toSorted());
});

describe('the package', () => {
  const packed = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { encoding: 'utf8' });
  const [{ files, unpackedSize }] = JSON.parse(packed.stdout) as [{ files: { path: string }[]; unpackedSize: number }];
  const paths = files.map(({ path }) => path);

  it('holds the program, its prompts, the viewer and the packages that are not installed beside it', () => {
    expect(paths).toEqual(
      expect.arrayContaining([
        ...['dist/src/cli.js', 'dist/src/main.js', 'dist/src/worker.js', 'dist/src/web-assets/index.html'],
        ...['dist/prompts/verifier/yes-no.user.md', 'dist/packages/DejaVuSans.ttf', 'dist/packages/LICENSES.txt'],
        ...['package.json', 'LICENSE', 'README.md', 'CHANGELOG.md'],
      ]),
    );
    expect(paths.filter((path) => !/^(dist\/(src|verifiers|prompts|packages)\/|[\w.]+$)/.test(path))).toEqual([]);
    expect(paths.filter((path) => /\.(ts|tsx|map)$|node_modules/.test(path))).toEqual([]);
  });

  it('weighs no more than 150 MB when it is installed, with all that it needs', () => {
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock;
    const installed = Object.keys(packages).filter((path) => path !== '' && packages[path]?.dev !== true);
    const bytes = installed.filter((path) => existsSync(path)).map(weightOf);
    expect(bytes.length).toBeGreaterThan(100);
    expect(bytes.reduce((sum, each) => sum + each, unpackedSize)).toBeLessThan(MOST_BYTES);
  });
});

/** Bytes on the disk, without the packages that are nested in this one. */
function weightOf(path: string): number {
  const stat = lstatSync(path);
  const below = stat.isDirectory() ? readdirSync(path).filter((name) => name !== 'node_modules') : [];
  return stat.blocks * 512 + below.reduce((sum, name) => sum + weightOf(join(path, name)), 0);
}
