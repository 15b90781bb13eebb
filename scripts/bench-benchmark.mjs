// `npm run bench:benchmark [-- part …] [-- --short]`: what a benchmark costs beside its runs, and what a killed one loses. Parts:
//   overhead  `bench run` against `select` of the same issues with as many at once, and the service; memory of both
//   kill      kill -9 at random moments, the same command again: the same report, no answered model call twice, no containers left
//   read      a data set of 2,294 rows in parquet
//   report    the report of 500 issues x 26 candidates x 4 arms
//   page      the page of a benchmark of 500 issues, in headless Chromium
// Issue, candidates and tests are those of examples/quickstart, K = 8; the judge answers after 50 ms. `overhead` executes no test:
// runs are short, so what is beside them shows most. --short says nothing of speed. Exit 1: an aim was missed, with --short a wrong
// result alone.
import { cpus, loadavg } from 'node:os';
import { benchKill } from './bench-benchmark/kill.mjs';
import { benchOverhead } from './bench-benchmark/overhead.mjs';
import { benchPage } from './bench-benchmark/page.mjs';
import { benchRead, benchReport } from './bench-benchmark/reports.mjs';

const PARTS = { overhead: benchOverhead, kill: benchKill, read: benchRead, report: benchReport, page: benchPage };

const short = process.argv.includes('--short');
const names = process.argv.slice(2).filter((name) => name !== '--short');
const unknown = names.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) {
  console.error(`bench:benchmark has no part ${unknown.join(', ')}; parts: ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}
console.log(
  `${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}, load ${loadavg()[0].toFixed(1)} before`,
);
for (const [name, part] of Object.entries(PARTS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  console.log(`\n${name}`);
  if ((await part(short)) === false) process.exitCode = 1;
}
process.exit();
