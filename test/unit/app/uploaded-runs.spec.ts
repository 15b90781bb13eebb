import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { UploadedRuns } from '../../../src/app/threads/uploaded-runs.js';
import { MachineLowError } from '../../../src/core/errors/unavailable.js';
import { HostResources } from '../../../src/ports/sandbox.js';
import { writeImport } from '../../../src/reports/write-import.js';
import { UPLOAD_BOUNDS } from '../../../src/io/saved-runs/saved-run.js';
import type { RescoreWish } from '../../../src/runs/run-intake.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-test-upload-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function read(lines: string): Promise<unknown> {
  const file = join(folder, 'upload.jsonl.gz');
  await writeFile(file, gzipSync(lines));
  return writeImport([file], join(folder, 'imported'), UPLOAD_BOUNDS);
}

describe('an upload', () => {
  it('is given up where too many of its records cannot be read', async () => {
    await expect(read('{}\n'.repeat(30_000))).rejects.toThrow('more than 10000 unreadable records');
    expect(await readdir(join(folder, 'imported'))).toEqual([]);
  });

  it('is read up to a number of lines, whatever stands on them', async () => {
    expect(await read('\n'.repeat(1_000_001))).toMatchObject({ candidates: 0, rejected: 1 });
  });

  const wish: RescoreWish = { verifiers: null, rule: {}, image: null, gzip: false, submitter: '' };
  const body = (async function* () {
    yield Buffer.from('{}\n');
  })();

  it('is given up when its client leaves, or the disk runs low', async () => {
    const low = new MachineLowError({ resource: 'uploads', place: '/', freeBytes: 0, floorBytes: 1 });
    let isLow = false;
    class Disk extends HostResources {
      override levels(): Promise<[]> {
        return isLow ? Promise.reject(low) : Promise.resolve([]);
      }
    }
    const uploads = new UploadedRuns((_job, stop) => {
      isLow = true;
      return new Promise((_resolve, reject) => {
        stop.addEventListener('abort', () => {
          reject(stop.reason as Error);
        });
      });
    }, new Disk());
    await expect(uploads.take(body, wish, new AbortController().signal)).rejects.toBe(low);
    const filling = (async function* () {
      isLow = false;
      yield Buffer.from('{}\n');
      isLow = true;
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      yield Buffer.from('{}\n');
      throw new Error('The disk was not looked at.');
    })();
    isLow = false;
    await expect(uploads.take(filling, wish, new AbortController().signal)).rejects.toBe(low);
    isLow = false;
    const full = (async function* () {
      yield Buffer.from('{}\n');
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    })();
    const { signal } = new AbortController();
    await expect(uploads.take(full, wish, signal)).rejects.toMatchObject({ code: 'disk-low' });
    // One that only others' signals refer to may be collected before its time.
    const client = new AbortController();
    setTimeout(() => {
      client.abort(new Error('the client left'));
    }, 20);
    await expect(uploads.take(body, wish, client.signal)).rejects.toThrow('the client left');
  });
});
