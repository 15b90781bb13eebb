import { BadInputError } from '../../core/errors/errors.js';

type Value = Record<string, unknown>;

/** One row group is held whole; a data set's have a few megabytes. */
const LARGEST_GROUP = 4 * 1024 ** 3;

/** The rows of a parquet file in order, a row group at a time. @throws BadInputError for a damaged file */
export async function* parquetRows(file: string): AsyncGenerator<Value> {
  const [{ asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects }, { compressors }] = await Promise.all([
    import('hyparquet'),
    import('hyparquet-compressors'),
  ]);
  try {
    const buffer = await asyncBufferFromFile(file);
    const metadata = await parquetMetadataAsync(buffer);
    let rowStart = 0;
    for (const { num_rows, total_byte_size } of metadata.row_groups) {
      if (total_byte_size > LARGEST_GROUP) throw new Error('a row group of it is larger than 4 GiB');
      const rowEnd = rowStart + Number(num_rows);
      const rows = await parquetReadObjects({ file: buffer, metadata, compressors, rowStart, rowEnd });
      for (const row of rows) yield plain(row) as Value;
      rowStart = rowEnd;
    }
  } catch (error) {
    throw new BadInputError(`is not a parquet file that can be read: ${(error as Error).message}`, { file });
  }
}

/** Values as JSON has them: whole numbers of any size, times as text, bytes as text. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (ArrayBuffer.isView(value)) return [...(value as unknown as Iterable<unknown>)].map(plain);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}
