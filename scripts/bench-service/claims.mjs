// 2,000 jobs that wait, with nothing to do for any of them: how fast one worker takes them and puts them away.
import pLimit from 'p-limit';
import { z } from 'zod';
import { Claims } from '../../dist/src/core/async/concurrency.js';
import { QueueJobs } from '../../dist/src/jobs/queue-jobs.js';
import { openQueueServer } from '../../dist/src/jobs/queue-server.js';
import { startCluster } from '../setup/postgres.mjs';
import { missingRedis, startRedis } from '../setup/redis.mjs';

const [FULL, SHORT] = [2_000, 200];
/** As many runs as a worker has at once, and as many connections as a busy service. */
const AT_ONCE = 8;
const LINES = 7;
const NO_RESULTS = { get: async () => undefined, getAll: async () => new Map(), put: async () => undefined };

/** @returns whether all were taken; how fast is printed, and no failure */
export async function benchClaims(short) {
  const count = short ? SHORT : FULL;
  const servers = { PostgreSQL: await startCluster({ settings: { fsync: 'on' } }) };
  if (missingRedis().length === 0) servers.Redis = await startRedis();
  for (const [name, server] of Object.entries(servers)) {
    const [submitted, claimed] = await measure(server.url, count);
    await server.destroy();
    console.log(`\nclaims: of ${count} jobs on ${name}, ${submitted}/s submitted, ${claimed}/s claimed (aim: 500)`);
  }
  return true;
}

async function measure(url, count) {
  const log = { warn: console.error, error: console.error };
  const open = async () => {
    const server = await openQueueServer(url);
    return new QueueJobs({ server, results: NO_RESULTS, claims: new Claims(), setup: 'bench', log });
  };
  const [asker, worker] = [await open(), await open()];
  const limit = pLimit(AT_ONCE);
  const turn = (n) => ({ line: String(n % LINES), of: 1 });
  const submit = (_, n) => limit(() => asker.submit({ kind: 'empty', key: `job ${n}`, payload: n, turn: turn(n) }));
  const submitted = await perSecond(count, () => Promise.all(Array.from({ length: count }, submit)));
  let left = count;
  const claimed = await perSecond(count, async () => {
    await new Promise((done) => {
      const perform = async () => (left -= 1) === 0 && done();
      void worker.start([{ kind: 'empty', payload: z.number(), result: null, atOnce: AT_ONCE, perform }]);
    });
  });
  await Promise.all([asker.close(0), worker.close(0)]);
  return [submitted, claimed];
}

async function perSecond(count, work) {
  const start = performance.now();
  await work();
  return Math.round((count * 1000) / (performance.now() - start));
}
