import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import type { OpenStore } from '../../../src/store/store.js';

const LEASE_MS = 6_000;
const HOUR_MS = 3_600_000;
const { now } = Date;
const WANTED = { setups: ['s'], not: [], only: null };

describe('when the clock of the store jumps an hour ahead', () => {
  let folder: string;
  let store: OpenStore;
  let runId: string;

  const claimUnit = async (by: string): Promise<string | undefined> =>
    (await store.units.claim(by, WANTED, LEASE_MS))?.payload as string | undefined;
  const offer = (key: string): Promise<string> =>
    store.units.offer({ runId, kind: 'cells', key, setup: 's', payload: key });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bestk-clock-'));
    store = await openSqliteStore(join(folder, 'store.sqlite'));
    runId = (await store.runs.create('k', {})).run.id;
    await store.runs.claim(runId, 'alive', LEASE_MS);
  });
  afterEach(async () => {
    Date.now = now;
    await store.close();
    await rm(folder, { recursive: true });
  });

  function jump(): void {
    const later = Date.now() + HOUR_MS;
    const from = performance.now();
    Date.now = () => later + performance.now() - from;
  }

  it('a unit stays with who works on it, and other units are given out', async () => {
    const mine = await offer('mine');
    expect(await claimUnit('alive')).toBe('mine');
    jump();
    expect(await claimUnit('other')).toBeUndefined();
    await offer('another');
    expect(await claimUnit('other')).toBe('another');
    expect(await store.units.extend(mine, 'alive', LEASE_MS)).toBe(true);
  });

  it('a run stays with who works on it', async () => {
    jump();
    expect(await store.runs.claim(runId, 'other', LEASE_MS)).toBe(false);
    expect(await store.runs.claim(runId, 'alive', LEASE_MS)).toBe(true);
  });

  it('what nobody extends afterwards is taken over', async () => {
    await offer('left');
    expect(await claimUnit('dead')).toBe('left');
    jump();
    expect(await claimUnit('other')).toBeUndefined();
    await new Promise((resolve) => setTimeout(resolve, 5_500));
    expect(await claimUnit('other')).toBe('left');
  });
});
