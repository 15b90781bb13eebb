import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { BOUNDLESS } from '../../../src/ports/sandbox.js';
import { makeUploadFolder, removeLeftUploads, withUpload } from '../../../src/app/threads/upload-folder.js';

const ENDED = String(spawnSync('true').pid);
const RUNNING = String(process.ppid);

function leave(owner: string, hoursAgo = 0): string {
  const name = `bestk-upload-${owner}-a1B2c3`;
  const at = Date.now() / 1000 - hoursAgo * 3600;
  mkdirSync(join(tmpdir(), name));
  writeFileSync(join(tmpdir(), name, 'upload.jsonl'), '{}\n');
  utimesSync(join(tmpdir(), name), at, at);
  return name;
}

const uploads = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('bestk-upload-'));

describe('folders of uploads', () => {
  it('are removed when their process was killed, and no others', async () => {
    await makeUploadFolder();
    leave(`${hostname()}-${ENDED}`);
    leave(`elsewhere-${RUNNING}`, 30);
    const kept = [leave(`${hostname()}-${RUNNING}`, 30), leave(`elsewhere-${ENDED}`, 20)];
    expect(uploads()).toHaveLength(5);
    await removeLeftUploads();
    expect(uploads().toSorted()).toEqual(kept.toSorted());
  });
});

it.each([0o022, 0o000])('an upload is readable by its user alone, under the umask %o', async (umask) => {
  const before = process.umask(umask);
  async function* upload(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{}\n');
  }
  const modeOf = (path: string): number => statSync(path).mode & 0o777;
  const received = { upload: upload(), gzip: false, largest: 100, room: BOUNDLESS };
  const modes = await withUpload(received, new AbortController().signal, async (file) => [
    modeOf(dirname(file)),
    modeOf(file),
  ]).finally(() => process.umask(before));
  expect(modes).toEqual([0o700, 0o600]);
});
