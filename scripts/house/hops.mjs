// The files that one patch passes on its way through `bestk select`: those of which some function is called more often when
// one more candidate is given. What a command does once (settings, composition, opening the store) does not count; what is
// done for every candidate does, in every room, from the reader of candidates.jsonl to the writer of verdicts.jsonl.
// Measured with V8's own call counts on examples/quickstart: its judge is a recording, its tests run in real containers.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const EXAMPLE = 'examples/quickstart';
const FEW = 3;

/** Files below src/ and verifiers/ without their ending, sorted. */
export function hopsOfOnePatch() {
  // Timers call functions as often as they like: only what is beyond two runs of the same counts.
  const [one, other, more] = [callsWith(FEW), callsWith(FEW), callsWith(FEW + 1)];
  const calls = (run, key) => run.get(key) ?? 0;
  const grown = [...more].filter(([key, count]) => count > Math.max(calls(one, key), calls(other, key)));
  return [...new Set(grown.map(([key]) => key.split('#')[0]))].sort();
}

/** How often each function of the program was called while it selected among so many candidates. */
function callsWith(candidates) {
  const folder = mkdtempSync(join(tmpdir(), 'bestk-hops-'));
  try {
    const lines = readFileSync(`${EXAMPLE}/candidates.jsonl`, 'utf8').split('\n').slice(0, candidates);
    writeFileSync(join(folder, 'candidates.jsonl'), `${lines.join('\n')}\n`);
    const inputs = ['--issue', `${EXAMPLE}/issue.json`, '--tests', `${EXAMPLE}/tests.jsonl`];
    inputs.push('--candidates', join(folder, 'candidates.jsonl'), '--out', join(folder, 'out'));
    const { status, stderr } = spawnSync(process.execPath, ['dist/src/cli.js', 'select', ...inputs], {
      encoding: 'utf8',
      env: {
        ...process.env,
        NODE_V8_COVERAGE: join(folder, 'coverage'),
        DATABASE_URL: `file:${join(folder, 'store.sqlite')}`,
        BESTK_REPLAY: `${EXAMPLE}/recording.jsonl`,
        BESTK_VERIFIER_MODEL: 'bestk-example-judge',
      },
    });
    if (status !== 0) throw new Error(`bestk select ended with ${status}: ${stderr}`);
    return readCalls(join(folder, 'coverage'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readCalls(folder) {
  const calls = new Map();
  for (const name of readdirSync(folder)) {
    for (const { url, functions } of JSON.parse(readFileSync(join(folder, name), 'utf8')).result) {
      const file = /\/dist\/((?:src|verifiers)\/.*)\.js$/.exec(url)?.[1];
      if (file === undefined) continue;
      // The first is the module itself.
      for (const { functionName, ranges } of functions.slice(1)) {
        const [{ startOffset, count }] = ranges;
        const key = `${file}#${functionName}@${startOffset}`;
        calls.set(key, (calls.get(key) ?? 0) + count);
      }
    }
  }
  return calls;
}
