// `npm run house`: how large the house is, and where it is scattered. Reads sources, and the last run of the tests; with a
// built program and a Docker engine it also counts the files that one patch passes on its way through `bestk select`.
import { readFileSync } from 'node:fs';
import { dirname, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cruise } from 'dependency-cruiser';
import { hopsOfOnePatch } from './house/hops.mjs';
import { compiledCurrent } from './setup/compiled.mjs';
import { engineFault, inspectImage } from './setup/engine.mjs';
import { lastRun, slowest } from './test-summary.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const SMALL = 40;
const LARGE = 350;
const SIDE_BY_SIDE = 35;
const EXAMPLE_IMAGE = 'bestk/example:1';

process.chdir(root);
const { output } = await cruise(['src', 'verifiers'], {
  tsPreCompilationDeps: true,
  tsConfig: { fileName: 'tsconfig.json' },
  includeOnly: '^(src|verifiers)/',
});
const files = output.modules
  .filter(({ source }) => ['.ts', '.tsx'].includes(extname(source)))
  .map(({ source, dependents }) => ({ source, importers: new Set(dependents).size, lines: linesOf(source) }));

const single = files.filter(({ importers }) => importers === 1);
const crumbs = single.filter(({ lines }) => lines < SMALL);
const large = files.filter(({ lines }) => lines > LARGE);
const folders = new Map();
for (const { source } of files) folders.set(dirname(source), (folders.get(dirname(source)) ?? 0) + 1);
const crowded = [...folders].filter(([, count]) => count > SIDE_BY_SIDE);

console.log(`${files.length} files, ${files.reduce((sum, { lines }) => sum + lines, 0)} lines`);
console.log(`${single.length} files with one importer (${Math.round((100 * single.length) / files.length)}%)`);
list(
  `files under ${SMALL} lines with one importer`,
  crumbs.map(({ source, lines }) => `${lines} ${source}`),
);
list(
  `files over ${LARGE} lines`,
  large.map(({ source, lines }) => `${lines} ${source}`),
);
list(
  `folders with more than ${SIDE_BY_SIDE} files`,
  crowded.map(([name, count]) => `${count} ${name}`),
);
await printHops();
const slow = slowest(lastRun(), root);
console.log(
  slow.length === 0 ? 'slowest test files: no whole `npm test` here yet' : ['slowest test files', ...slow].join('\n'),
);

async function printHops() {
  const missing = (await engineFault()) ?? ((await inspectImage(EXAMPLE_IMAGE)) ? undefined : `no ${EXAMPLE_IMAGE}`);
  if (missing !== undefined || !compiledCurrent(root)) {
    console.log(`hops of one patch: not counted (${missing ?? 'the build is old'}); node scripts/setup.mjs quickstart`);
    return;
  }
  const rooms = new Map();
  for (const file of hopsOfOnePatch()) {
    const room = file.split('/').slice(0, 2).join('/');
    rooms.set(room, [...(rooms.get(room) ?? []), file.slice(room.length + 1)]);
  }
  const total = [...rooms.values()].reduce((sum, { length }) => sum + length, 0);
  console.log(`${total} files that one patch passes through select`);
  for (const [room, names] of rooms) console.log(`${String(names.length).padStart(6)} ${room}: ${names.join(', ')}`);
}

function linesOf(file) {
  return readFileSync(file, 'utf8').split('\n').length - 1;
}

function list(title, lines) {
  console.log(`${lines.length} ${title}`);
  for (const line of lines) console.log(`       ${line}`);
}
