// How long `npm install -g` of the package takes and what it weighs: `npm run bench:install [-- --warm]`.
// In a prefix and a cache of its own; --warm keeps the user's cache.
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MOST_S = 60;
const MOST_MB = 150;
const BLOCK = 512;

const folder = mkdtempSync(join(tmpdir(), 'bestk-install-'));
const cache = process.argv.includes('--warm') ? {} : { npm_config_cache: join(folder, 'cache') };
const env = { ...process.env, ...cache, npm_config_audit: 'false', npm_config_fund: 'false' };
try {
  const [{ filename, size }] = JSON.parse(
    run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]),
  );
  const start = performance.now();
  run('npm', ['install', '-g', '--prefix', folder, join(folder, filename)]);
  const seconds = (performance.now() - start) / 1_000;
  const bestk = join(folder, 'bin/bestk');
  const version = run(bestk, ['--version']).trim();
  run(bestk, ['curves', '--scores', 'examples/curves/scores.jsonl', '--bootstrap', '0']);
  const modules = join(folder, 'lib/node_modules/bestk');
  const megabytes = megabytesOf(modules);
  console.log(`bestk ${version}: ${(size / 1024 ** 2).toFixed(1)} MB packed`);
  console.log(`installed in ${seconds.toFixed(0)} s (at most ${MOST_S}), ${megabytes} MB (at most ${MOST_MB})`);
  const build = join(modules, 'node_modules/better-sqlite3/build');
  if (existsSync(join(build, 'Release/obj.target')))
    console.log(`better-sqlite3 was compiled for want of a prebuilt binary: ${megabytesOf(build)} MB of it`);
  process.exitCode = seconds > MOST_S || megabytes > MOST_MB ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true });
}

function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { env, encoding: 'utf8', maxBuffer: 1024 ** 3 });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with exit ${status}: ${stderr}`);
  return stdout;
}

function megabytesOf(path) {
  return Math.ceil(weightOf(path) / 1024 ** 2);
}

/** Bytes on the disk, as du counts them. */
function weightOf(path) {
  const { blocks } = lstatSync(path);
  const below = lstatSync(path).isDirectory() ? readdirSync(path) : [];
  return blocks * BLOCK + below.reduce((sum, name) => sum + weightOf(join(path, name)), 0);
}
