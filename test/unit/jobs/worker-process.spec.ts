import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import { WorkerProcess } from '../../../src/jobs/worker-process.js';
import { until } from '../../fixtures/run-world.js';

const ANSWERS = `
process.on('message', ({ say, id }) => {
  if (say === 'metrics') process.send({ say: 'answer', id, value: 'here' });
  if (say === 'stop') process.disconnect();
  if (say === 'cancel') process.exit(1);
});
`;
/** Jest gives tests a copy. */
const ownProcess = runInThisContext('process') as NodeJS.Process;
const { execPath } = ownProcess;

let folder: string;
let program: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-worker-'));
  program = join(folder, 'worker.cjs');
  await writeFile(program, ANSWERS);
});
afterEach(() => {
  ownProcess.execPath = execPath;
});
afterAll(() => rm(folder, { recursive: true }));

function answer(worker: WorkerProcess): Promise<unknown> {
  const metrics = (id: number) => ({ say: 'metrics', id }) as const;
  return worker.ask(metrics, AbortSignal.timeout(20_000)).catch(() => null);
}

it('a worker process that could not be started is started when that is possible', async () => {
  const warnings: string[] = [];
  const worker = new WorkerProcess([program], { warn: (message) => warnings.push(message) });
  ownProcess.execPath = join(folder, 'updated-meanwhile');
  worker.start();
  expect(await answer(worker)).toBeNull();
  await until(() => warnings.length > 0, 20_000);
  expect(warnings[0]).toContain('updated-meanwhile ENOENT');
  ownProcess.execPath = execPath;
  expect(await until(() => answer(worker), 20_000)).toBe('here');
  await worker.close();
});

it('a worker process whose start the system refuses at once is started when that is possible', async () => {
  const warnings: string[] = [];
  const command: [string, ...string[]] = [program];
  const worker = new WorkerProcess(command, { warn: (message) => warnings.push(message) });
  worker.start();
  expect(await answer(worker)).toBe('here');
  // More than Linux takes as one argument.
  command.push('x'.repeat(1_000_000));
  worker.say({ say: 'cancel', kind: '', key: '' });
  await until(() => warnings.join().includes('E2BIG'), 20_000);
  command.pop();
  expect(await until(() => answer(worker), 20_000)).toBe('here');
  await worker.close();
});

it('a worker process that cannot be started is not waited for', async () => {
  const worker = new WorkerProcess([program], { warn: () => undefined });
  ownProcess.execPath = join(folder, 'updated-meanwhile');
  worker.start();
  await worker.close();
});
