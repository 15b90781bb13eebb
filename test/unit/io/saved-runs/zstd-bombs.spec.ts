import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { savedRecords } from '../../../../src/io/saved-runs/saved-records.js';
import { unpacked } from '../../../../src/io/saved-runs/saved-files.js';
import { ZSTD } from './saved-fixtures.js';

const folder = mkdtempSync(join(tmpdir(), 'bestk-zstd-'));
afterAll(() => rm(folder, { recursive: true }));
const path = join(folder, 'rows.jsonl.zst');

const MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** A frame whose window is 2 to the power of `exponent`, and its blocks: one byte, repeated. */
function frame(exponent: number, blocks: number, size: number): Buffer {
  const block = (isLast: boolean): number[] => {
    const header = Number(isLast) + 2 + size * 8;
    return [header & 255, (header >> 8) & 255, header >> 16, 0x61];
  };
  const most = Buffer.concat(Array.from({ length: blocks - 1 }, () => Buffer.from(block(false))));
  return Buffer.concat([Buffer.from([...MAGIC, 0, (exponent - 10) << 3]), most, Buffer.from(block(true))]);
}
const skippable = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);

/** @returns the bytes read, the most that came between two turns, and the problem */
async function read(content: Buffer, most?: number): Promise<{ bytes: number; problem: string | null }> {
  writeFileSync(path, content);
  let bytes = 0;
  try {
    for await (const chunk of unpacked(path, most)) bytes += chunk.length;
    return { bytes, problem: null };
  } catch (error) {
    return { bytes, problem: (error as Error).message };
  }
}

it('reads frames one after another, with others between them, in pieces of any size', async () => {
  const whole = Buffer.from(ZSTD, 'base64');
  const text = (await read(whole)).bytes;
  const many = Buffer.concat([frame(17, 3, 1_000), skippable, whole, frame(20, 2_000, 100), whole]);
  expect(await read(many)).toEqual({ bytes: 3_000 + text + 200_000 + text, problem: null });
});

it.each([
  ['the first frame', Buffer.concat([frame(28, 2, 1)])],
  ['a later frame', Buffer.concat([frame(17, 2, 1), frame(31, 2, 1)])],
  ['a frame behind a skippable one', Buffer.concat([skippable, frame(30, 2, 1)])],
  ['a frame of one segment', Buffer.from([...MAGIC, 0xa0, 0, 0, 0, 0x40, 11, 0, 0, 0x61])],
])('refuses a window of more than 128 MiB in %s, before there is one', async (_what, content) => {
  expect((await read(content)).problem).toMatch(/needs a window of more than 128 MiB; pack it again without --long/);
});

it('gives up small blocks of a large window, each of which costs as much as a large one', async () => {
  const { problem, bytes } = await read(frame(27, 100_000, 1));
  expect(problem).toMatch(/its blocks are too small for its window/);
  expect(bytes).toBeLessThan(1_000);
});

it('unpacks no more of a bomb than is taken, and stops at the limit', async () => {
  const bomb = frame(17, 20_000, 131_072);
  expect(await read(bomb, 1_000_000)).toMatchObject({ problem: 'it unpacks to more than 1000000 bytes' });
  writeFileSync(path, bomb);
  const before = process.memoryUsage().arrayBuffers;
  const chunks = unpacked(path);
  await chunks.next();
  // All of it is 2.5 GB; a piece of the file is 34 MB.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(300_000_000);
  await chunks.return(undefined);
});

it.each([
  ['.zst', frame(17, 20_000, 131_072)],
  ['.gz', gzipSync(Buffer.alloc(300_000_000))],
])('names the file of a bomb in %s', async (end, content) => {
  const file = join(folder, `bomb.jsonl${end}`);
  writeFileSync(file, content);
  const bounds = { line: 1_000, document: 1_000, values: 10, total: 1_000_000, lines: 10, rejects: 10, next: 'x' };
  const found = [];
  for await (const each of savedRecords(file, bounds)) found.push(each);
  const reason = expect.stringMatching(/unpacks to more than 1000000 bytes/) as string;
  expect(found).toContainEqual({ damage: { file, line: null, byte: null, reason } });
});
