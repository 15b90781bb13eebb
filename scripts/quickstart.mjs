// `npm run quickstart`: sets the machine up, then selects among the eight candidates of examples/quickstart.
// The judge's answers are replayed from a recording; every test runs for real, in containers.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setUpOrExit } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const example = 'examples/quickstart';
const out = 'bestk-out/quickstart';

await setUpOrExit('quickstart');
mkdirSync(join(root, out), { recursive: true });

const inputs = { issue: 'issue.json', candidates: 'candidates.jsonl', tests: 'tests.jsonl', labels: 'labels.jsonl' };
const options = Object.entries(inputs).flatMap(([name, file]) => [`--${name}`, `${example}/${file}`]);
const command = spawn(
  process.execPath,
  ['dist/src/cli.js', 'select', ...options, '--out', out, ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      BESTK_REPLAY: `${example}/recording.jsonl`,
      BESTK_VERIFIER_MODEL: 'bestk-example-judge',
      DATABASE_URL: `file:${out}/store.sqlite`,
    },
  },
);
// Ctrl-C reaches the command by itself; this process waits until the command has removed its containers.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => command.kill('SIGTERM'));
command.on('close', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
