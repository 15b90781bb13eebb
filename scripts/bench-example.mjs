// `npm run bench-example`: sets the machine up, then runs the two arms of examples/bench and reports. No model is called.
import { spawn } from 'node:child_process';
import { setUpOrExit } from './setup.mjs';

const out = 'bestk-out/bench';
await setUpOrExit('bench-example');
const command = spawn(
  process.execPath,
  ['dist/src/cli.js', 'bench', 'run', 'examples/bench/bench.yaml', '--out', out, ...process.argv.slice(2)],
  { stdio: 'inherit', env: { ...process.env, DATABASE_URL: `file:${out}.sqlite` } },
);
// Ctrl-C reaches the command by itself; this process waits until the command has removed its containers.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => command.kill('SIGTERM'));
command.on('close', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
