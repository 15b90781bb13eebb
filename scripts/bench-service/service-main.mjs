// Child process: `bestk serve` as it is shipped and, with the argument `work`, the process that works for it, but for its sandbox,
// which plays the commands in memory. The service says every second how much memory it takes, and CPU time it took.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppModule } from '../../dist/src/app/app.module.js';
import { serve } from '../../dist/src/main.js';
import { work } from '../../dist/src/worker.js';
import { Sandbox } from '../../dist/src/ports/sandbox.js';
import { exited, FakeSandbox } from '../../test/fakes/fake-sandbox.ts';
import { playSuite } from '../../test/fakes/suite-player.ts';

const play = playSuite({ test: (tree) => (tree?.includes('right') ? 0 : 2) });
/** What a patch may print where a report is read: lines that a backtracking reader takes minutes for. */
const HOSTILE_OUTPUT = [
  '1..2',
  `ok 1 - t${' '.repeat(200_000)}x`,
  `# ${'\t'.repeat(200_000)}`,
  `--- FAIL: ${'('.repeat(200_000)}`,
].join('\n');
const sandbox = new FakeSandbox(async (request, session) => {
  if (request.argv.join(' ').includes('hostile-output')) return exited(0, HOSTILE_OUTPUT);
  // Which commands there were is for tests.
  sandbox.requests.length = 0;
  await new Promise((resolve) => setTimeout(resolve, commandMs()));
  return play(request, session);
});
const app = { module: AppModule, providers: [{ provide: Sandbox, useValue: sandbox }] };
const host = '127.0.0.1';
if (process.argv[2] === 'work') await work({ host, forService: true }, app);
else {
  const told = setInterval(() => process.send({ ...process.memoryUsage(), cpu: process.cpuUsage() }), 1000);
  process.once('disconnect', () => process.exit(1));
  await serve({ host, port: 0, worker: true }, app, [process.argv[1], 'work']);
  clearInterval(told);
  process.disconnect();
}

/** How long a command lasts, as the bench has written it down. */
function commandMs() {
  try {
    return Number(readFileSync(join(process.env.HOME, 'command-ms'), 'utf8'));
  } catch {
    return 0;
  }
}
