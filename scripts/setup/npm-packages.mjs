import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { hasProgram } from './debian.mjs';
import { CommandFailed, run, step, Unavailable } from './run.mjs';

/** Programs that compile better-sqlite3 where no prebuilt binary can be fetched, and the Debian package of each. */
const COMPILERS = { python3: 'python3', make: 'make', 'g++': 'g++' };

export function missingCompilers() {
  return Object.keys(COMPILERS)
    .filter((program) => !hasProgram(program))
    .map((program) => COMPILERS[program]);
}

/** Whether node_modules holds what package-lock.json names. */
export function packagesCurrent(root) {
  const installed = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(installed)) return false;
  return sameVersions(readLock(join(root, 'package-lock.json')), readLock(installed));
}

/** npm's record of node_modules leaves out the root and the optional packages of other platforms. */
function sameVersions(wanted, installed) {
  for (const [path, entry] of Object.entries(wanted)) {
    const found = installed[path];
    if (found === undefined ? path !== '' && !entry.optional : found.version !== entry.version) return false;
  }
  return Object.keys(installed).every((path) => path in wanted);
}

function readLock(path) {
  return JSON.parse(readFileSync(path, 'utf8')).packages;
}

/** Whether the one package with a native part loads in this Node. */
export function addonLoads(root) {
  try {
    const Database = createRequire(join(root, 'package.json'))('better-sqlite3');
    new Database(':memory:').close();
    return true;
  } catch {
    return false;
  }
}

/** Installs exactly what package-lock.json names, without what packages run once they are there. */
export async function installPackages(root) {
  await step('npm packages', () =>
    run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: root, env: process.env }),
  );
}

/** Fetches better-sqlite3's addon, or compiles it: the longest step of all, which nothing but running the program needs. */
export async function installAddon(root) {
  // For a clone, whose user waits for it; the package's own -O3 takes gcc the longest.
  const env = { CFLAGS: '-O1', ...process.env, ...nodeHeaders() };
  try {
    await step('better-sqlite3', () => run('npm', ['rebuild', 'better-sqlite3'], { cwd: root, env }));
  } catch (error) {
    const missing = missingCompilers();
    if (!(error instanceof CommandFailed) || missing.length === 0) throw error;
    throw new Unavailable(
      `${error.message}\n\nMissing here: ${missing.join(', ')}. better-sqlite3 is compiled where no prebuilt binary can be ` +
        'fetched.\nInstall python3, make and g++, or run this as root on Debian or Ubuntu.',
    );
  }
}

/** Points node-gyp at the headers beside this Node, so that it need not download them. */
function nodeHeaders() {
  const prefix = dirname(dirname(process.execPath));
  const header = join(prefix, 'include/node/node_version.h');
  if (!existsSync(header)) return {};
  const text = readFileSync(header, 'utf8');
  const version = ['MAJOR', 'MINOR', 'PATCH'].map((part) => text.match(`#define NODE_${part}_VERSION (\\d+)`)?.[1]);
  return version.join('.') === process.versions.node ? { npm_config_nodedir: prefix } : {};
}
