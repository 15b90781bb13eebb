import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import SqliteDriver from 'better-sqlite3';
import { openSqliteStore } from '../../../src/store/sqlite.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-processes-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

function startWriter(path: string, rounds: number, name: string): ChildProcess {
  const loader = join(import.meta.dirname, '../../run-typescript.mjs');
  const script = join(import.meta.dirname, 'store-writer.ts');
  return spawn(process.execPath, ['--import', loader, script, path, String(rounds), name], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH },
  });
}

/** What the child said, until it ended or `enough` lines came; then it is killed where it stands. */
async function linesOf(child: ChildProcess, enough = Number.POSITIVE_INFINITY): Promise<string[]> {
  if (child.stdout === null) throw new Error('no stdout');
  const lines: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (lines.length === enough) child.kill('SIGKILL');
  }
  return lines;
}

function acknowledged(lines: readonly string[], kind: string): string[] {
  return lines.filter((line) => line.startsWith(`${kind} `)).map((line) => line.slice(kind.length + 1));
}

describe('processes on one SQLite store', () => {
  it('loses no acknowledged row to kill -9', async () => {
    const path = join(folder, 'killed.sqlite');
    let said: string[] = [];
    for (let time = 0; time < 3; time += 1) {
      said = [...said, ...(await linesOf(startWriter(path, 0, `w${time}`), 150 + 37 * time))];
    }
    const store = await openSqliteStore(path);
    const [id = ''] = acknowledged(said, 'run');
    const journal = (await store.runs.events(id, 0)).map(({ seq }) => seq);
    expect(journal).toEqual(journal.map((_, n) => n + 1));
    expect(journal).toEqual(expect.arrayContaining(acknowledged(said, 'event').map(Number)));
    const results = acknowledged(said, 'result');
    expect(results.length).toBeGreaterThan(200);
    for (const key of results) expect(await store.results.get(key)).toEqual({ n: Number(key.split(' ')[1]) });
    await store.close();
    const driver = new SqliteDriver(path);
    expect(driver.pragma('integrity_check', { simple: true })).toBe('ok');
    driver.close();
  });

  it('lets three processes create, migrate and write one new file at the same time', async () => {
    const path = join(folder, 'shared.sqlite');
    const rounds = 200;
    const children = ['a', 'b', 'c'].map((name) => startWriter(path, rounds, name));
    const [said] = await Promise.all([
      Promise.all(children.map((child) => linesOf(child))),
      Promise.all(children.map((child) => once(child, 'exit'))),
    ]);
    expect(children.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
    const ids = new Set(said.flatMap((lines) => acknowledged(lines, 'run')));
    expect(ids.size).toBe(1);
    const seqs = said.flatMap((lines) => acknowledged(lines, 'event').map(Number));
    expect(new Set(seqs).size).toBe(3 * rounds);
    expect(Math.max(...seqs)).toBe(3 * rounds + 1);
  });
});
