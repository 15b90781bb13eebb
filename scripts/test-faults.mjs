// `npm run test:faults [-- --points N --only FAULTS --seed N --short]`: kills, fills, cuts and turns back the clocks of real
// processes in the middle of runs, and prints what became of them. Needs root: it mounts, and starts a Docker engine.
import { spawnSync } from 'node:child_process';
import { setUpOrExit } from './setup.mjs';

if (process.getuid?.() !== 0) {
  console.log('SKIPPED test:faults: it mounts small disks and starts a Docker engine of its own; run it as root');
  process.exit(0);
}
await setUpOrExit('faults');
const program = ['--import', './test/run-typescript.mjs', 'test/faults/main.ts', ...process.argv.slice(2)];
process.exit(spawnSync(process.execPath, program, { stdio: 'inherit' }).status ?? 1);
