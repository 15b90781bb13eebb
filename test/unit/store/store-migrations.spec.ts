import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDriver from 'better-sqlite3';
import { Kysely, Migrator, SqliteDialect } from 'kysely';
import { migrations } from '../../../src/store/migrations.js';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import { runResult } from '../../fixtures/runs.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-migrations-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

describe('a store of an earlier version', () => {
  it('keeps its runs, journals and results', async () => {
    const path = join(folder, 'old.sqlite');
    const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: new SqliteDriver(path) }) });
    await new Migrator({ db, provider: migrations }).migrateTo('0001_runs_and_results');
    await db.destroy();
    const driver = new SqliteDriver(path);
    const result = runResult();
    driver.exec(`
      insert into runs values ('run_1', 'key', 'hash', 'done', '{"a":1}', '{"b":2}', null, null, null, 2, 1000, 2000),
        ('run_2', 'key 2', 'hash', 'done', '{}', '${JSON.stringify(result)}', null, null, null, 0, 1000, 2000);
      insert into run_events values ('run_1', 1, 1000, 'status', '{}'), ('run_1', 2, 2000, 'status', '{}');
      insert into results values ('k', 'cell', '3', 1000);
    `);
    driver.close();

    const store = await openSqliteStore(path);
    expect(await store.runs.get('run_1')).toMatchObject({ status: 'done', request: { a: 1 }, result: { b: 2 } });
    expect(await store.runs.events('run_1', 0)).toHaveLength(2);
    expect((await store.runs.overview('run_1'))?.answer).toBeNull();
    expect((await store.runs.overview('run_2'))?.answer?.selection).toEqual(result.selection);
    // Asked for now, it is of use again; the run ended long ago.
    expect(await store.results.get('k')).toBe(3);
    expect(await store.retention.sweep(Date.now() - 1_000)).toEqual({ runs: 2, results: 0, reports: 0, audited: 0 });
    expect(await store.results.get('k')).toBe(3);
    await store.close();
  });
});
