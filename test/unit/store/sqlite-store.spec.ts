import { existsSync, readdirSync, statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import SqliteDriver from 'better-sqlite3';
import type { OpenStore } from '../../../src/store/store.js';
import { openStore } from '../../../src/store/open-store.js';
import { openSqliteStore, ownFile } from '../../../src/store/sqlite.js';
import { StoreUnavailableError } from '../../../src/core/errors/unavailable.js';
import { auditLogContract } from '../../contracts/audit-log.contract.js';
import { benchmarkStoreContract } from '../../contracts/benchmark-store.contract.js';
import { resultStoreContract } from '../../contracts/result-store.contract.js';
import { retentionContract } from '../../contracts/retention.contract.js';
import { runStoreContract } from '../../contracts/run-store.contract.js';
import { spendingStoreContract } from '../../contracts/spending-store.contract.js';
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

runStoreContract('SQLite', async () => (await open()).runs);
resultStoreContract('SQLite', async () => (await open()).results);
spendingStoreContract('SQLite', () => open());
benchmarkStoreContract('SQLite', () => open());
retentionContract('SQLite', () => open());
auditLogContract('SQLite', async () => (await open()).audit);

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

/** The modes of a folder and of everything in it, by name. */
function modesIn(of: string): Record<string, string> {
  const names = readdirSync(of).map((name) => [name, modeOf(join(of, name))] as const);
  return Object.fromEntries([['.', modeOf(of)], ...names]);
}

describe.each([0o022, 0o000, 0o002])('under the umask %o, an embedded store', (umask) => {
  let before: number;
  beforeEach(() => (before = process.umask(umask)));
  afterEach(() => process.umask(before));
  const place = async (): Promise<string> => join(await mkdtemp(join(folder, 'umask-')), 'state', 'bestk', 's.sqlite');
  const PRIVATE = { '.': '700', 's.sqlite': '600', 's.sqlite-shm': '600', 's.sqlite-wal': '600' };

  it('is readable by its user alone, with the folders created for it and the files beside it', async () => {
    const path = await place();
    ownFile(path, 'this test');
    const store = await open(path);
    await store.runs.create('key', { a: 1 });
    expect(modesIn(dirname(path))).toEqual({ ...PRIVATE, 's.sqlite.serve': '600' });
    expect(modeOf(dirname(dirname(path)))).toBe('700');
  });

  it('of an earlier version becomes so, and keeps what it holds', async () => {
    const path = await place();
    const earlier = await openStore({ file: path });
    const { run } = await earlier.runs.create('key', { a: 1 });
    for (const name of ['', '-wal', '-shm']) if (existsSync(path + name)) await chmod(path + name, 0o644);
    await chmod(dirname(path), 0o755);
    const store = await openStore({ file: path, hasOwnFolder: true });
    opened.push(earlier, store);
    expect(modesIn(dirname(path))).toEqual(PRIVATE);
    expect(await store.runs.get(run.id)).not.toBeNull();
  });

  it("leaves a folder of the user's as it is", async () => {
    const path = await place();
    await mkdir(dirname(path), { recursive: true });
    await chmod(dirname(path), 0o755);
    opened.push(await openStore({ file: path }));
    expect(modesIn(dirname(path))).toEqual({ ...PRIVATE, '.': '755' });
  });
});

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

  it('shows one opening what another wrote', async () => {
    const path = newPath();
    const [a, b] = [await open(path), await open(path)];
    const { run } = await a.runs.create('key', 1);
    expect(await b.runs.claim(run.id, 'b')).toBe(true);
    expect(await a.runs.isHeld(run.id, 'b')).toBe(true);
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
      const { run } = await store.runs.create('key', {});
      disk.fill();
      const written = store.results.put('k', 'cell', 'x'.repeat(500_000));
      const journalled = store.runs.append(run.id, 'step', 'x'.repeat(500_000));
      await new Promise((resolve) => setTimeout(resolve, 100));
      disk.free();
      await written;
      expect(await store.results.get('k')).toHaveLength(500_000);
      expect((await journalled).seq).toBe(2);
      await store.close();
    } finally {
      disk.remove();
    }
  });

  (process.getuid?.() === 0 ? it : it.skip)(
    'gives up on a disk that stays full, and has written nothing by half',
    async () => {
      const disk = new SmallDisk(join(folder, 'full'), 2);
      const path = join(disk.path, 'store.sqlite');
      try {
        const store = await openSqliteStore(path, 50, 200);
        const { run } = await store.runs.create('key', {});
        await store.results.put('before', 'cell', 1);
        disk.fill();
        const large = 'x'.repeat(500_000);
        const calls = [store.results.put('k', 'cell', large), store.runs.append(run.id, 'step', large)];
        const reason = {
          code: 'store-unavailable',
          message: expect.stringMatching(/full/) as string,
          next: expect.stringMatching(/room|space|disk/) as string,
        };
        expect(await Promise.allSettled(calls)).toMatchObject(calls.map(() => ({ status: 'rejected', reason })));
        await store.close();
        disk.free();
        const again = await openSqliteStore(path);
        expect(await again.results.get('k')).toBeUndefined();
        expect(await again.results.get('before')).toBe(1);
        expect((await again.runs.append(run.id, 'step', large)).seq).toBe(2);
        await again.close();
        const driver = new SqliteDriver(path, { readonly: true });
        expect(driver.pragma('integrity_check', { simple: true })).toBe('ok');
        driver.close();
      } finally {
        disk.remove();
      }
    },
  );

  it('opens a store of an earlier build, and adds what it lacks', async () => {
    const path = newPath();
    const earlier = await open(path);
    const { run } = await earlier.runs.create('key', { a: 1 });
    const spent = { tokens: 3, usd: 0.5 };
    await earlier.spendings.of(run.id, 'a').begin();
    await earlier.spendings.of(run.id, 'a').settle({ tokens: 0, usd: 0 }, spent);
    const benchmark = await earlier.benchmarks.create('b', { title: 'b', hash: '', submitter: '', setup: 'ours' });
    await earlier.benchmarks.begin(benchmark.id, {}, {});
    await earlier.runs.create('of b', {}, { setup: 'ours', benchmark: { id: benchmark.id, arm: 'a' } });
    const begun = await earlier.benchmarks.get(benchmark.id);
    await earlier.close();
    const driver = new SqliteDriver(path);
    driver.exec("DELETE FROM kysely_migration WHERE name > '0002'");
    driver.exec('ALTER TABLE spendings DROP COLUMN begun');
    driver.exec('ALTER TABLE benchmarks DROP COLUMN setup');
    driver.close();
    const store = await open(path);
    expect(await store.runs.get(run.id)).toEqual(run);
    expect(await store.spendings.of(run.id, 'a').begin()).toEqual(spent);
    expect(await store.benchmarks.get(benchmark.id)).toEqual(begun);
    expect(await store.benchmarks.running()).toEqual([{ id: benchmark.id, submitter: '', setup: 'ours' }]);
    expect(await store.benchmarks.adopt(benchmark.id, 'theirs', 'ours')).toBe(true);
    expect(await store.benchmarks.running()).toEqual([{ id: benchmark.id, submitter: '', setup: 'theirs' }]);
  });

  it.each(['9999_from_the_future', '0001_runs_and_results'])(
    'refuses, unchanged, a store of another build (%s)',
    async (made) => {
      const path = newPath();
      await (await open(path)).close();
      const driver = new SqliteDriver(path);
      driver.exec(`UPDATE kysely_migration SET name = '${made}' WHERE name LIKE '0001%'`);
      driver.exec('DROP TABLE audit');
      driver.close();
      await expectUnavailable(openSqliteStore(path), made);
      const after = new SqliteDriver(path, { readonly: true });
      expect(after.prepare("SELECT name FROM sqlite_master WHERE name = 'audit'").get()).toBeUndefined();
      after.close();
    },
  );

  it('searches the newest 10,000 runs', async () => {
    const path = newPath();
    const store = await open(path);
    const oldest = (await store.runs.create('key', 1)).run.id;
    const driver = new SqliteDriver(path);
    const columns = driver.pragma('table_info(runs)') as { name: string }[];
    const others = columns.map(({ name }) => name).filter((name) => name !== 'id' && name !== 'key');
    const copy = driver.prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT INTO runs (id, key, ${others.join()}) SELECT id || '-' || i || ?, key || i || ?, ${others.join()} FROM runs, n WHERE key = 'key'`);
    const isFound = async (): Promise<boolean> =>
      (await store.runs.list(1, null, { search: oldest, descending: false })).runs[0]?.id === oldest;
    copy.run(9_999, 'a', 'a');
    expect(await isFound()).toBe(true);
    copy.run(1, 'b', 'b');
    driver.close();
    expect(await isFound()).toBe(false);
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
