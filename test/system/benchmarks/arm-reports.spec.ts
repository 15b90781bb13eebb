import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ArmsJob, reportArms } from '../../../src/benchmarks/arm-reports.js';
import { BenchmarkWorld, filesOf } from '../../unit/reports/benchmark-world.js';

const ARMS = ['mine', 'other', 'third'];
const world = new BenchmarkWorld();
/** Most of them wait: threads begin where there are many. */
const instances = Array.from({ length: 100 }, (_, n) => `org__repo-${n}`);
const job: ArmsJob = { out: world.path, title: 'Set', names: ARMS, instances, writes: true };
const THREAD = pathToFileURL(resolve('dist/src/benchmarks/arm-reports-thread.js'));

beforeAll(async () => {
  for (const [n, instance] of instances.slice(0, 3).entries()) {
    const tried = ['a', 'b', 'c'].map((id, at) => ({ id, p: 0.2 + 0.3 * ((at + n) % 3), passed: at, right: at === n }));
    await world.run(instance, tried);
  }
  for (const arm of ARMS) {
    cpSync(join(world.path, 'runs'), join(world.path, 'arms', arm), { recursive: true });
    mkdirSync(join(world.path, 'arms', arm, 'graded'));
    cpSync(world.labelFile(), join(world.path, 'arms', arm, 'graded', 'labels.jsonl'));
  }
});
afterAll(() => {
  rmSync(world.path, { recursive: true });
});

async function reported(cores: number, thread?: URL): Promise<object> {
  rmSync(join(world.path, 'report'), { recursive: true, force: true });
  const arms = await reportArms(job, cores, thread);
  return { arms, files: filesOf(join(world.path, 'report')) };
}

const NO_THREAD = new URL('data:text/javascript,throw new Error("a thread")');

it('reports of arms are the same, byte for byte, whatever number of threads made them', async () => {
  const alone = await reported(1, NO_THREAD);
  expect(alone).toMatchObject({
    arms: ARMS.map((name) => ({ name })),
    files: { 'third/report.html': expect.any(String) as string },
  });
  expect(await reported(2, THREAD)).toEqual(alone);
  await expect(reported(2, NO_THREAD)).rejects.toThrow('a thread');
});

it('a damaged file is named by the thread that found it', async () => {
  const file = join(world.path, 'arms/other', 'org__repo_1', 'run.json');
  writeFileSync(file, '{');
  await expect(reported(2, THREAD)).rejects.toMatchObject({
    code: 'bad-input',
    message: expect.stringContaining(file) as string,
  });
});
