// What `bestk select` on replay adds over Node itself, on a run whose results are all stored: `npm run bench:startup`.
// Run `npm run quickstart` first: it fills the store that this replays from.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const RUNS = 9;
const EXAMPLE = 'examples/quickstart';
const OUT = 'bestk-out/quickstart';

if (!existsSync(`${OUT}/store.sqlite`)) {
  console.error('bench:startup needs the store of a finished `npm run quickstart`');
  process.exit(3);
}
const inputs = ['issue.json', 'candidates.jsonl', 'tests.jsonl'].flatMap((file) => [
  `--${file.split('.')[0]}`,
  `${EXAMPLE}/${file}`,
]);
const env = {
  ...process.env,
  BESTK_REPLAY: `${EXAMPLE}/recording.jsonl`,
  BESTK_VERIFIER_MODEL: 'bestk-example-judge',
  DATABASE_URL: `file:${OUT}/store.sqlite`,
};

const node = times(['-e', '0']);
const help = times(['dist/src/cli.js', '--help']);
const select = times(['dist/src/cli.js', 'select', ...inputs, '--out', `${OUT}-startup`, '--json']);
print('node -e 0', node);
print('bestk --help', help);
print('bestk select, all stored', select);
console.log(`select adds ${(select.median - node.median).toFixed(3)} s over Node (medians of ${RUNS})`);

function times(args) {
  const seconds = [];
  for (let run = 0; run <= RUNS; run += 1) {
    const start = performance.now();
    const { status } = spawnSync(process.execPath, args, { env, stdio: 'ignore' });
    if (status !== 0) throw new Error(`${args.join(' ')} ended with exit ${status}`);
    if (run > 0) seconds.push((performance.now() - start) / 1000);
  }
  seconds.sort((a, b) => a - b);
  return { min: seconds[0], median: seconds[(RUNS - 1) / 2], max: seconds[RUNS - 1] };
}

function print(name, { min, median, max }) {
  console.log(`${name.padEnd(26)} median ${median.toFixed(3)} s   (${min.toFixed(3)} – ${max.toFixed(3)})`);
}
