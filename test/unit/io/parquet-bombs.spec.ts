import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { SchemaElement } from 'hyparquet';
import { readDataSet } from '../../../src/io/datasets/data-set.js';
import { parquetRows } from '../../../src/io/records/parquet.js';
import { readRecords } from '../../../src/io/records/records.js';
import { readGivenCandidates } from '../../../src/io/saved-runs/given-candidates.js';
import { savedRecords } from '../../../src/io/saved-runs/saved-records.js';
import {
  dataPage,
  dictionaryPage,
  fileOfFooter,
  fileOfPages,
  levels,
  type Page,
  run,
  varInt,
} from '../../fixtures/parquet-pages.js';

const folder = mkdtempSync(join(tmpdir(), 'bestk-bombs-'));
afterAll(() => rm(folder, { recursive: true }));

const path = join(folder, 'rows.parquet');
async function read(bytes: Uint8Array): Promise<unknown[]> {
  writeFileSync(path, bytes);
  const rows: unknown[] = [];
  for await (const row of parquetRows(path)) rows.push(row);
  return rows;
}

const bytesOf = (...bytes: readonly number[]): Uint8Array => Uint8Array.from(bytes);
const text = (value: string): number[] => [value.length, 0, 0, 0, ...Buffer.from(value)];
const HUGE = 2_000_000_000;
const second = (counts: object): Page['header'] => ({
  type: 'DATA_PAGE_V2',
  data_page_header_v2: {
    ...{ num_values: 1, num_nulls: 0, num_rows: 1, encoding: 'PLAIN', is_compressed: false },
    ...{ definition_levels_byte_length: 2, repetition_levels_byte_length: 0 },
    ...counts,
  },
});
/** Zstandard: a frame that says nothing of its size, of one block that repeats one byte. */
const zstd = (size: number): Uint8Array =>
  bytesOf(0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 3 + size * 8, size >> 5, size >> 13, 0x61).map((byte) => byte & 255);

it('reads what these pages are made of where they say what is right', async () => {
  const content = bytesOf(...levels(...run(2, 1)), ...text('x'), ...text('yz'));
  expect(await read(fileOfPages({ pages: [{ header: dataPage(2), content }], rows: 2 }))).toEqual([
    { a: 'x' },
    { a: 'yz' },
  ]);
  const words = { header: dictionaryPage(1), content: bytesOf(...text('word')) };
  const uses = { header: dataPage(3, 'RLE_DICTIONARY'), content: bytesOf(...levels(...run(3, 1)), 1, ...run(3, 0)) };
  expect(await read(fileOfPages({ pages: [words, uses], rows: 3 }))).toEqual(Array(3).fill({ a: 'word' }));
  const newer = { header: second({}), content: bytesOf(...run(1, 1), ...text('x')) };
  expect(await read(fileOfPages({ pages: [newer], rows: 1 }))).toEqual([{ a: 'x' }]);
});

const sound = bytesOf(...levels(...run(1, 1)), ...text('x'));
const PAGES: [what: string, pages: readonly Page[], rows?: number][] = [
  ['more values than any', [{ header: dataPage(HUGE), content: sound }]],
  ['fewer values than none', [{ header: dataPage(-1), content: sound }]],
  ['a run of levels longer than its values', [{ header: dataPage(1), content: bytesOf(...levels(...run(HUGE, 1))) }]],
  [
    'packed levels more than its values',
    [{ header: dataPage(1), content: bytesOf(...levels(...varInt(HUGE + 1)), 1) }],
  ],
  [
    'a run of words longer than its values',
    [
      { header: dictionaryPage(1), content: bytesOf(...text('x')) },
      { header: dataPage(1, 'RLE_DICTIONARY'), content: bytesOf(...levels(...run(1, 1)), 1, ...run(HUGE, 0)) },
    ],
  ],
  ['a dictionary longer than its bytes', [{ header: dictionaryPage(HUGE), content: bytesOf(...text('x')) }]],
  ['more nulls than values', [{ header: second({ num_nulls: 2 }), content: sound }]],
  ['fewer nulls than none', [{ header: second({ num_nulls: -HUGE }), content: sound }]],
  ['levels longer than itself', [{ header: second({ definition_levels_byte_length: HUGE }), content: sound }]],
  [
    'words of no width without end',
    [
      {
        header: second({ encoding: 'RLE_DICTIONARY' }),
        content: bytesOf(...run(1, 1), 0, 0xff, 0xff, 0xff, 0xff, 0x0f),
      },
    ],
  ],
  ['more bytes than its column', [{ header: { ...dataPage(1), compressed_page_size: HUGE }, content: sound }]],
  ['fewer bytes than none', [{ header: { ...dataPage(1), uncompressed_page_size: -1 }, content: sound }]],
  ['more rows than any', [{ header: dataPage(1), content: sound }], HUGE],
];

it.each(PAGES)('refuses a page that claims %s, and names the file', async (_what, pages: readonly Page[], rows = 1) => {
  await expect(read(fileOfPages({ pages, rows }))).rejects.toMatchObject({ code: 'bad-input', place: { file: path } });
});

it.each([
  ['SNAPPY', bytesOf(...varInt(HUGE), 0, 0)],
  ['GZIP', gzipSync('x')],
  ['BROTLI', brotliCompressSync('x')],
  ['ZSTD', zstd(1)],
] as const)('reserves no more for a page in %s than a small file may grow to', async (codec, content) => {
  const pages = [{ header: { ...dataPage(1), uncompressed_page_size: HUGE }, content }];
  await expect(read(fileOfPages({ pages, rows: 1, codec }))).rejects.toThrow(
    'it grows more than 200 times in unpacking, to more than 256 MiB',
  );
});

it('unpacks Zstandard no further than the page says', async () => {
  const whole = bytesOf(...levels(...run(1, 1)), ...text('x'));
  const raw = bytesOf(0x28, 0xb5, 0x2f, 0xfd, 0x20, whole.length, 1 + whole.length * 8, 0, 0, ...whole);
  const page = (size: number, content: Uint8Array): Uint8Array =>
    fileOfPages({
      pages: [{ header: { ...dataPage(1), uncompressed_page_size: size }, content }],
      rows: 1,
      codec: 'ZSTD',
    });
  expect(await read(page(whole.length, raw))).toEqual([{ a: 'x' }]);
  await expect(read(page(16, zstd(100_000)))).rejects.toMatchObject({ code: 'bad-input', place: { file: path } });
});

it('reads a long word that a dictionary repeats no more often than a file may grow', async () => {
  const word = {
    header: dictionaryPage(1),
    content: Buffer.concat([bytesOf(0, 0, 16, 0), Buffer.alloc(1 << 20, 'x')]),
  };
  const uses = {
    header: dataPage(4_000, 'RLE_DICTIONARY'),
    content: bytesOf(...levels(...run(4_000, 1)), 1, ...run(4_000, 0)),
  };
  writeFileSync(path, fileOfPages({ pages: [word, uses], rows: 4_000 }));
  const count = async (): Promise<number> => {
    let rows = 0;
    for await (const row of parquetRows(path)) rows += Object.keys(row).length;
    return rows;
  };
  await expect(count()).rejects.toThrow('grows more than 200 times in unpacking, to more than 1024 MiB');
});

it('refuses columns nested deeper than any', async () => {
  const nested: SchemaElement[] = Array.from({ length: 60 }, (_, n) => ({
    ...{ name: `n${n}`, num_children: 1, repetition_type: 'REPEATED' },
  }));
  const schema: SchemaElement[] = [
    { name: 'root', num_children: 1 },
    ...nested,
    { name: 'leaf', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
  ];
  const pages = [{ header: dataPage(1), content: sound }];
  await expect(read(fileOfPages({ pages, rows: 1, schema }))).rejects.toThrow('nested deeper than 32 levels');
});

const zeros = (count: number): Uint8Array => new Uint8Array(count);
it.each([
  [
    'a number of a million bytes',
    Buffer.concat([bytesOf(0x16), Buffer.alloc(1_000_000, 0x80)]),
    /a number of it is too long/,
  ],
  ['structs without end', new Uint8Array(200_000).fill(0x1c), /nested deeper than 32 levels/],
  ['a list of more than it has bytes for', bytesOf(0x19, 0xfc, ...varInt(HUGE), 0), /description is too large/],
  ['nothing', zeros(1), /is not a readable parquet file/],
])('refuses a footer that has %s', async (_what, footer, reason) => {
  await expect(read(fileOfFooter(footer))).rejects.toThrow(reason);
});

it('is refused by every reader of saved runs, which name the file', async () => {
  writeFileSync(path, fileOfPages({ pages: [{ header: dataPage(HUGE), content: sound }], rows: 1 }));
  const place = { file: path };
  await expect(readRecords(path).next()).rejects.toMatchObject({ place });
  await expect(readGivenCandidates(path, ['i'], () => undefined)).rejects.toMatchObject({ place });
  const { value } = (await savedRecords(path).next()) as { value: object };
  expect(value).toMatchObject({
    damage: { ...place, reason: expect.stringMatching(/not a readable parquet/) as string },
  });
});

it('tells the reader of a data set which file it was', async () => {
  writeFileSync(path, fileOfPages({ pages: [{ header: dataPage(HUGE), content: sound }], rows: 1 }));
  await expect(readDataSet(path).next()).rejects.toMatchObject({ place: { file: path } });
});
