// `npm run quickstart`: sets the machine up, then samples eight trajectories for examples/quickstart, verifies them and
// selects. The models' answers are replayed from a recording; every action and every test runs for real, in containers.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXAMPLE, exampleEnvironment } from './example-environment.mjs';
import { setUpOrExit } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = 'bestk-out/quickstart';

await setUpOrExit('quickstart');
mkdirSync(join(root, out), { recursive: true });

const inputs = { issue: 'issue.json', tests: 'tests.jsonl', labels: 'rollout-labels.jsonl' };
const options = Object.entries(inputs).flatMap(([name, file]) => [`--${name}`, `${EXAMPLE}/${file}`]);
const command = spawn(
  process.execPath,
  ['dist/src/cli.js', 'solve', '-k', '8', ...options, '--out', out, ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...exampleEnvironment(out),
      BESTK_REPLAY: `${EXAMPLE}/recording.jsonl`,
    },
  },
);
// Ctrl-C reaches the command by itself; this process waits until the command has removed its containers.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => command.kill('SIGTERM'));
command.on('close', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
