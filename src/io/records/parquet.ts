import { type FileHandle, open } from 'node:fs/promises';
import { BadInputError } from '../../core/errors/errors.js';

type Value = Record<string, unknown>;

/** The rows of a parquet file in order, a row group at a time. @throws BadInputError for a damaged file, or a bomb */
export async function* parquetRows(path: string): AsyncGenerator<Value> {
  const [{ parquetReadObjects }, { compressors, footerBytes, readFooter, requireReadable, rowSizes }] =
    await Promise.all([import('hyparquet'), import('./parquet-bounds.js')]);
  try {
    await using file = await open(path);
    const buffer = new ParquetFile(file, (await file.stat()).size);
    const slice = (start: number, end?: number): Promise<ArrayBuffer> => buffer.reading(buffer.slice(start, end));
    const size = buffer.byteLength;
    const metadata = readFooter(await slice(size - footerBytes(await slice(size - FOOTER_END))));
    const take = rowSizes(size);
    let rowStart = 0;
    for (const group of metadata.row_groups) {
      await requireReadable(group, metadata, slice);
      const rowEnd = rowStart + Number(group.num_rows);
      const rows = parquetReadObjects({ file: buffer, metadata, compressors, rowStart, rowEnd });
      for (const row of await buffer.reading(rows)) yield plain(row, take) as Value;
      rowStart = rowEnd;
    }
  } catch (error) {
    const { message } = error as Error;
    throw new BadInputError(`is not a readable parquet file: ${message}.`, { file: path }, 'Download the file again.');
  }
}

/** Length of the footer, and the magic number. */
const FOOTER_END = 8;

/**
 * The bytes of a file, for hyparquet, which starts all columns at once. If one fails to start, it awaits none of them,
 * and an unhandled rejection would end the process. Therefore `slice` never rejects, and never resolves after a
 * failure; `reading` throws instead.
 */
class ParquetFile {
  private hasFailed = false;
  private fail: (reason: Error) => void = () => undefined;
  private readonly failure = new Promise<never>((_, reject) => (this.fail = reject));

  constructor(
    private readonly file: FileHandle,
    readonly byteLength: number,
  ) {
    this.failure.catch(() => undefined);
  }

  slice(start: number, end = this.byteLength): Promise<ArrayBuffer> {
    return new Promise((resolve) => {
      this.part(start, end).then((part) => {
        if (!this.hasFailed) resolve(part);
      }, this.fail);
    });
  }

  /** @throws what reading failed with, or the error of a part of the file that could not be read */
  async reading<T>(work: Promise<T>): Promise<T> {
    try {
      return await Promise.race([work, this.failure]);
    } catch (error) {
      this.hasFailed = true;
      throw error;
    }
  }

  private async part(start: number, end: number): Promise<ArrayBuffer> {
    if (!(start >= 0 && start <= end && end <= this.byteLength)) throw new Error('a part of it is outside the file');
    const part = new ArrayBuffer(end - start);
    const { bytesRead } = await this.file.read(new Uint8Array(part), 0, end - start, start);
    if (bytesRead < end - start) throw new Error('a part of it cannot be read');
    return part;
  }
}

/**
 * Converts values to JSON's types: big integers to numbers, times and bytes to strings.
 * @param take called with about the bytes of each part
 */
function plain(value: unknown, take: (bytes: number) => void): unknown {
  const size = typeof value === 'string' ? value.length : ArrayBuffer.isView(value) ? value.byteLength : 0;
  take(size + 1);
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  const inner = (each: unknown): unknown => plain(each, take);
  if (ArrayBuffer.isView(value)) return [...(value as unknown as Iterable<unknown>)].map(inner);
  if (Array.isArray(value)) return value.map(inner);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inner(member)]));
}
