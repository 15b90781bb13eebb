import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import SqliteDriver from 'better-sqlite3';
import type { OpenStore } from '../../../src/store/store.js';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import { StoreUnavailableError } from '../../../src/core/errors/unavailable.js';
import { auditLogContract } from '../../contracts/audit-log.contract.js';
import { resultStoreContract } from '../../contracts/result-store.contract.js';
import { retentionContract } from '../../contracts/retention.contract.js';
import { runStoreContract } from '../../contracts/run-store.contract.js';
import { unitStoreContract } from '../../contracts/unit-store.contract.js';
import { SmallDisk } from '../../faults/small-disk.js';

let folder: string;
let count = 0;
const opened: OpenStore[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-store-'));
});
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await rm(folder, { recursive: true });
});

function newPath(): string {
  count += 1;
  return join(folder, 'made', 'when needed', `${count}.sqlite`);
}

async function open(path = newPath(), busyTimeoutMs?: number): Promise<OpenStore> {
  const store = await openSqliteStore(path, busyTimeoutMs);
  opened.push(store);
  return store;
}

/** As migration 0001 made them. */
const OLD_TABLES = `
  CREATE TABLE runs (id text PRIMARY KEY, key text NOT NULL UNIQUE, request_hash text NOT NULL, status text NOT NULL,
    request text NOT NULL, result text, failure text, owner text, lease_until bigint, last_seq integer NOT NULL,
    created_at bigint NOT NULL, updated_at bigint NOT NULL);
  CREATE INDEX runs_by_status ON runs (status);
  CREATE TABLE run_events (run_id text NOT NULL REFERENCES runs (id) ON DELETE CASCADE, seq integer NOT NULL,
    at bigint NOT NULL, type text NOT NULL, data text NOT NULL, PRIMARY KEY (run_id, seq));
  CREATE TABLE results (key text PRIMARY KEY, kind text NOT NULL, value text NOT NULL, created_at bigint NOT NULL);
  INSERT INTO kysely_migration (name, timestamp) VALUES ('0001_runs_and_results', '2026-01-01T00:00:00.000Z');
`;

runStoreContract('SQLite', async () => (await open()).runs);
resultStoreContract('SQLite', async () => (await open()).results);
unitStoreContract('SQLite', () => open());
retentionContract('SQLite', () => open());
auditLogContract('SQLite', async () => (await open()).audit);

describe('openSqliteStore', () => {
  it('keeps everything across a reopening', async () => {
    const path = newPath();
    const first = await open(path);
    const { run } = await first.runs.create('key', { a: 1 });
    await first.runs.append(run.id, 'step', [1, 2]);
    await first.results.put('k', 'cell', 'kept');
    const before = [await first.runs.get(run.id), await first.runs.events(run.id, 0)];
    await first.close();
    const second = await open(path);
    expect([await second.runs.get(run.id), await second.runs.events(run.id, 0)]).toEqual(before);
    expect(await second.results.get('k')).toBe('kept');
    expect((await second.runs.append(run.id, 'step', 3)).seq).toBe(3);
  });

  it('takes over a store in which runs held their documents', async () => {
    const path = newPath();
    await (await open(path)).close();
    const old = new SqliteDriver(path);
    old.pragma('foreign_keys = OFF');
    const tables = old
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'kysely%'")
      .pluck();
    for (const name of tables.all() as string[]) old.exec(`DROP TABLE "${name}"`);
    old.exec('DELETE FROM kysely_migration');
    old.exec(OLD_TABLES);
    const insert = old.prepare(
      'INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL, 1, 1700000000000, 1700000000000)',
    );
    const request = { issue: { instance_id: 'kept__1' }, k: 3, preset: 'kimi' };
    const result = { selection: { candidate_id: 'c', basis: 'hybrid' }, usage: { cost_usd: 2 } };
    insert.run('run_1', 'key 1', 'hash', 'done', JSON.stringify(request), JSON.stringify(result));
    insert.run('run_2', 'key 2', 'hash', 'queued', '"of another shape"', null);
    old.close();
    const { runs } = await open(path);
    expect((await runs.list(9, null)).runs).toMatchObject([
      { id: 'run_2', instance_id: null, k: null },
      { id: 'run_1', instance_id: 'kept__1', k: 3, preset: 'kimi', candidate_id: 'c', basis: 'hybrid', cost_usd: 2 },
    ]);
    expect(await runs.get('run_1')).toMatchObject({ request, result, status: 'done' });
    expect(await runs.get('run_2')).toMatchObject({ request: 'of another shape', result: null });
  });

  it('shows one opening what another wrote', async () => {
    const path = newPath();
    const [a, b] = [await open(path), await open(path)];
    const { run } = await a.runs.create('key', 1);
    expect(await b.runs.claim(run.id, 'b', 60_000)).toBe(true);
    expect(await a.runs.claim(run.id, 'a', 60_000)).toBe(false);
    expect(await a.runs.statusOf(run.id)).toBe('running');
  });

  it.each([
    ['a file that is not a database', async (path: string) => writeFile(path, 'not a database\n'.repeat(100))],
    ['a folder', async (path: string) => mkdir(path)],
  ])('names %s', async (_what, prepare) => {
    const path = join(folder, `wrong ${++count}`);
    await prepare(path);
    await expectUnavailable(openSqliteStore(path), path);
  });

  it('names a path below a file', async () => {
    const file = join(folder, 'plain file');
    await writeFile(file, '');
    await expectUnavailable(openSqliteStore(join(file, 'store.sqlite')), file);
  });

  it('names a store that another process keeps locked, when opening and when writing', async () => {
    const path = newPath();
    const store = await open(path, 50);
    const locker = new SqliteDriver(path);
    locker.exec('BEGIN EXCLUSIVE');
    await expectUnavailable(openSqliteStore(path, 50), path);
    await expectUnavailable(store.results.put('k', 'cell', 1), path);
    locker.exec('COMMIT');
    locker.close();
    await store.results.put('k', 'cell', 2);
    expect(await store.results.get('k')).toBe(2);
  });

  // Only root may mount.
  (process.getuid?.() === 0 ? it : it.skip)('waits for room on a full disk', async () => {
    const disk = new SmallDisk(join(folder, 'disk'), 2);
    try {
      const store = await openSqliteStore(join(disk.path, 'store.sqlite'));
      disk.fill();
      const written = store.results.put('k', 'cell', 'x'.repeat(500_000));
      await new Promise((resolve) => setTimeout(resolve, 100));
      disk.free();
      await written;
      expect(await store.results.get('k')).toHaveLength(500_000);
      await store.close();
    } finally {
      disk.remove();
    }
  });

  it('names a store written by a later version', async () => {
    const path = newPath();
    await (await open(path)).close();
    const driver = new SqliteDriver(path);
    driver.exec("INSERT INTO kysely_migration VALUES ('9999_from_the_future', '2100-01-01T00:00:00.000Z')");
    driver.close();
    await expectUnavailable(openSqliteStore(path), path);
  });

  it('refuses to work after it was closed', async () => {
    const path = newPath();
    const store = await open(path);
    await store.close();
    await expectUnavailable(store.results.get('k'), path);
    await expectUnavailable(store.runs.create('key', 1), path);
  });
});

async function expectUnavailable(attempt: Promise<unknown>, path: string): Promise<void> {
  const error: unknown = await attempt.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect((error as Error).message).toContain(path);
}
