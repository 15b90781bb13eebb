import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { MachineLowError } from '../../../src/core/errors/unavailable.js';
import { LocalHostResources, type Floors, type Places } from '../../../src/sandbox/container/host-resources.js';

const MIB = 1024 * 1024;
const LOOKED_AGAIN_MS = 250;
const NO_FLOORS = { diskMb: undefined, memoryMb: undefined };
const NOWHERE: Places = { store: null, uploads: null, engine: () => Promise.resolve(null), memory: false };

/** A file system of 32 MiB; null where this user may not mount one. */
function smallDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'bestk-small-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmdirSync(folder);
    return null;
  }
}

const disk = smallDisk();
const onDisk = disk === null ? it.skip : it;
if (disk === null) console.warn('Skipped: a small file system (this user may not mount one).');
afterAll(() => {
  if (disk === null) return;
  execFileSync('umount', [disk]);
  rmdirSync(disk);
});

function roomOn(places: Partial<Places>, floors: Partial<Floors> = {}): LocalHostResources {
  return new LocalHostResources({ ...NO_FLOORS, ...floors }, { ...NOWHERE, ...places });
}

onDisk('tells a disk that fills up, and that it has room again', async () => {
  const place = disk ?? '';
  const room = roomOn({ engine: () => Promise.resolve(place) }, { diskMb: 8 });
  expect(await room.shortage()).toBeNull();
  const file = join(place, 'large');
  writeFileSync(file, Buffer.alloc(28 * MIB));
  await sleep(LOOKED_AGAIN_MS);
  const low = await room.shortage();
  expect(low).toMatchObject({ code: 'disk-low', resource: 'engine' });
  expect(low?.message).toContain(`4 MiB free at ${place}, no work is taken below 8 (BESTK_MIN_FREE_DISK_MB)`);
  expect(await roomOn({ uploads: place }, { diskMb: 8 }).shortage()).toBeNull();
  rmSync(file);
  await sleep(LOOKED_AGAIN_MS);
  expect(await room.shortage()).toBeNull();
});

onDisk('asks of a small disk no more than a tenth of it', async () => {
  const [level] = await roomOn({ store: disk }).levels();
  expect(level).toMatchObject({ resource: 'store', floorBytes: 3.2 * MIB });
  const { message } = new MachineLowError({
    resource: 'store',
    place: '/s',
    freeBytes: 0.2 * MIB,
    floorBytes: 0.3 * MIB,
  });
  expect(message).toContain('0 MiB free at /s, no work is taken below 1 (');
});

it('looks at memory where the kernel tells it', async () => {
  const levels = await roomOn({ memory: true }).levels();
  if (process.platform !== 'linux') expect(levels).toEqual([]);
  else
    expect(await roomOn({ memory: true }, { memoryMb: 1_000_000_000 }).shortage()).toMatchObject({
      code: 'memory-low',
    });
});

it('does not look where nothing can be seen, or where no floor is wanted', async () => {
  expect(await roomOn({ store: '/no/such/place' }).levels()).toEqual([]);
  expect(await roomOn({ store: tmpdir(), memory: true }, { diskMb: 0, memoryMb: 0 }).levels()).toEqual([]);
});
