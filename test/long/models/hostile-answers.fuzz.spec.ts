import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { HOSTILE_ANSWERS } from '../../fixtures/hostile-answers.js';

/** What a process may take that receives all of them. */
const MOST_MB = 600;

interface Measured {
  readonly rss_mb: number;
  readonly rows: readonly { readonly answer: string; readonly said: string }[];
}

it('a process that receives hostile answers of 64 MiB in every shape lives on within its memory', async () => {
  const argv = ['--no-warnings', '--import', './test/run-typescript.mjs', 'scripts/bench-answers.mjs', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { maxBuffer: 2 ** 24 });
  const { rss_mb, rows } = JSON.parse(stdout) as Measured;
  expect(new Set(rows.map(({ answer }) => answer)).size).toBe(HOSTILE_ANSWERS.length);
  expect(rss_mb).toBeLessThan(MOST_MB);
});
