// Child process: `bestk serve` as it is shipped, but for its sandbox, which plays the commands in memory. Says every second
// how much memory it takes, and CPU time it took.
import { AppModule } from '../../dist/src/app/app.module.js';
import { serve } from '../../dist/src/main.js';
import { Sandbox } from '../../dist/src/ports/sandbox.js';
import { FakeSandbox } from '../../test/fakes/fake-sandbox.ts';
import { playSuite } from '../../test/fakes/suite-player.ts';

let commandMs = 0;
process.on('message', (ms) => (commandMs = ms));
const play = playSuite({ test: (tree) => (tree?.includes('right') ? 0 : 2) });
const sandbox = new FakeSandbox(async (request, session) => {
  // Which commands there were is for tests.
  sandbox.requests.length = 0;
  await new Promise((resolve) => setTimeout(resolve, commandMs));
  return play(request, session);
});
const told = setInterval(() => process.send({ ...process.memoryUsage(), cpu: process.cpuUsage() }), 1000);
process.once('disconnect', () => process.exit(1));
await serve(
  { host: '127.0.0.1', port: 0 },
  { module: AppModule, providers: [{ provide: Sandbox, useValue: sandbox }] },
);
clearInterval(told);
process.disconnect();
