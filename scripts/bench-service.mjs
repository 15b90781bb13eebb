// `npm run bench:service [-- part …] [-- --short]`: what the service carries, each part on SQLite and on PostgreSQL, from this
// process, on loopback. Parts: submit (and its floor), reads, hostile (what others wait meanwhile), claims (the queue alone, on PostgreSQL and Redis), workers (two against
// one on one PostgreSQL). --short is a minute of all but workers, and says nothing of speed. Exit 1: a run did not end well, a request failed, or memory grew out of bounds.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchClaims } from './bench-service/claims.mjs';
import { benchHostile } from './bench-service/hostile.mjs';
import { benchReads } from './bench-service/reads.mjs';
import { benchSubmit } from './bench-service/submit.mjs';
import { benchWorkers } from './bench-service/workers.mjs';
import { startCluster } from './setup/postgres.mjs';

const PARTS = {
  submit: onBoth(benchSubmit),
  reads: onBoth(benchReads),
  hostile: onBoth(benchHostile),
  claims: benchClaims,
  workers: benchWorkers,
};

const short = process.argv.includes('--short');
const names = process.argv.slice(2).filter((name) => name !== '--short');
const unknown = names.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) {
  console.error(`bench:service has no part ${unknown.join(', ')}; parts: ${Object.keys(PARTS).join(', ')}`);
  process.exit(2);
}
// What was started goes with this process.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}`);
for (const [name, part] of Object.entries(PARTS)) {
  const isWanted = names.length === 0 ? !short || name !== 'workers' : names.includes(name);
  if (isWanted && (await part(short)) === false) process.exitCode = 1;
}
process.exit();

/** @param {(place: { database: string, floorDatabase: string, folder: string, short: boolean }) => Promise<boolean>} part */
function onBoth(part) {
  return async (short) => {
    const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-'));
    const cluster = await startCluster({ settings: { fsync: 'on' } });
    const databases = { SQLite: `file:${join(folder, 'SQLite', 'store.sqlite')}`, PostgreSQL: cluster.url };
    await cluster.sql('create database floor owner bestk', 'postgres');
    const floors = {
      SQLite: `file:${join(folder, 'SQLite', 'floor.sqlite')}`,
      PostgreSQL: cluster.url.replace(/bestk$/, 'floor'),
    };
    let went = true;
    try {
      for (const [name, database] of Object.entries(databases)) {
        const home = join(folder, name);
        mkdirSync(home);
        console.log(`\n${name}, load ${loadavg()[0].toFixed(1)} before`);
        went = (await part({ database, floorDatabase: floors[name], folder: home, short })) && went;
      }
    } finally {
      await cluster.destroy();
      rmSync(folder, { recursive: true, force: true });
    }
    return went;
  };
}
