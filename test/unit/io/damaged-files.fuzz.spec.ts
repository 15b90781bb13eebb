import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { BadInputError } from '../../../src/core/errors/errors.js';
import { readDataSet } from '../../../src/io/datasets/data-set.js';
import { savedRecords } from '../../../src/io/saved-runs/saved-records.js';
import { UPLOAD_BOUNDS } from '../../../src/io/saved-runs/saved-run.js';
import { DATA_SET_ROWS, parquet } from '../../fixtures/data-sets.js';
import { ZSTD } from './saved-runs/saved-fixtures.js';

const FEWEST = 50;
const FILES = Math.max(FEWEST, Number(process.env.FUZZ_REQUESTS ?? 0));
const SEED = Number(process.env.FUZZ_SEED ?? 7);

const LINES = Buffer.from(`${JSON.stringify(DATA_SET_ROWS.verified)}\n`.repeat(20));
const SOUND: readonly (readonly [string, Uint8Array])[] = [
  ['rows.jsonl', LINES],
  ['rows.jsonl.gz', gzipSync(LINES)],
  ['rows.jsonl.zst', Buffer.from(ZSTD, 'base64')],
  ['rows.parquet', new Uint8Array(parquet(DATA_SET_ROWS.verified))],
];

/** Where bytes are changed, by which ones; numbers beyond the end begin anew. */
const damage = fc.record({
  changes: fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff)), { minLength: 1, maxLength: 8 }),
  from: fc.option(fc.nat()),
  twice: fc.boolean(),
});

const folder = mkdtempSync(join(tmpdir(), 'bestk-damaged-'));
afterAll(() => rm(folder, { recursive: true }));

async function read(path: string): Promise<void> {
  for await (const row of readDataSet(path)) expect(Object.keys(row)).not.toEqual([]);
}

describe('a damaged file is told as one:', () => {
  it.each(SOUND)(
    '%s',
    async (name, sound) => {
      const path = join(folder, name);
      const damaged = fc.asyncProperty(damage, async ({ changes, from, twice }) => {
        const bytes = Buffer.from(sound);
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        const cut = from === null ? bytes : bytes.subarray(0, from % bytes.length);
        writeFileSync(path, twice ? Buffer.concat([cut, bytes]) : cut);
        await read(path).catch((error: unknown) => {
          if (!(error instanceof BadInputError)) throw error;
        });
        if (name.endsWith('.parquet')) return;
        for await (const found of savedRecords(path, UPLOAD_BOUNDS)) expect(Object.keys(found)).toHaveLength(1);
      });
      await fc.assert(damaged, { numRuns: FILES, seed: SEED });
    },
    60_000 + FILES * 200,
  );
});
