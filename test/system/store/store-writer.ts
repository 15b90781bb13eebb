import { openSqliteStore } from '../../../src/store/sqlite.js';

/**
 * Child process: writes to the store at argv[2] for argv[3] rounds (0 = until killed), and says each write on stdout
 * only once the store acknowledged it.
 */
const [path = '', rounds = '0', name = 'writer'] = process.argv.slice(2);
const store = await openSqliteStore(path);
const { run } = await store.runs.create('shared', { shared: true });
process.stdout.write(`run ${run.id}\n`);
for (let n = 0; rounds === '0' || n < Number(rounds); n += 1) {
  const event = await store.runs.append(run.id, name, n);
  process.stdout.write(`event ${event.seq}\n`);
  await store.results.put(`${name} ${n}`, 'cell', { n });
  process.stdout.write(`result ${name} ${n}\n`);
}
await store.close();
