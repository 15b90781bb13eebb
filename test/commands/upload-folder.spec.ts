import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { makeUploadFolder, removeLeftUploads } from '../../src/commands/upload-folder.js';

const ENDED = spawnSync('true').pid;

function leave(name: string): string {
  mkdirSync(join(tmpdir(), name));
  writeFileSync(join(tmpdir(), name, 'upload.jsonl'), '{}\n');
  return name;
}

describe('folders of uploads', () => {
  it('are removed when their process was killed, and no others', async () => {
    const before = basename(await makeUploadFolder());
    const left = leave(`bestk-upload-${hostname()}-${String(ENDED)}-a1B2c3`);
    const others = [
      leave(`bestk-upload-${hostname()}-${String(process.ppid)}-a1B2c3`),
      leave(`bestk-upload-elsewhere-${String(ENDED)}-a1B2c3`),
      leave(`bestk-upload-${hostname()}-notes`),
    ];
    expect(readdirSync(tmpdir())).toEqual(expect.arrayContaining([before, left, ...others]));
    await removeLeftUploads();
    expect(
      readdirSync(tmpdir())
        .filter((name) => name.startsWith('bestk-upload-'))
        .toSorted(),
    ).toEqual(others.toSorted());
  });
});
