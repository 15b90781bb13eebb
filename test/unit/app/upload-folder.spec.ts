import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeUploadFolder, removeLeftUploads } from '../../../src/app/threads/upload-folder.js';

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
