import type { Compressors, FileMetaData, RowGroup } from 'hyparquet';
import { parquetHeader } from 'hyparquet/src/column.js';
import { decompressPage } from 'hyparquet/src/datapage.js';
import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { parquetMetadata, parquetSchema } from 'hyparquet/src/metadata.js';
import { getMaxDefinitionLevel, getMaxRepetitionLevel, getTreePath } from 'hyparquet/src/schema.js';
import { readVarInt } from 'hyparquet/src/thrift.js';
import { compressors as unbounded } from 'hyparquet-compressors';
import { decompress as decompressZstd } from 'fzstd';

/*
 * Checks of a parquet file before hyparquet decodes it. hyparquet believes every count in a file, so that a damaged or hostile
 * page of a few bytes would take minutes and gigabytes.
 */

type PageHeader = ReturnType<typeof parquetHeader>;
type DataReader = Parameters<typeof parquetHeader>[0];
type ColumnMetaData = NonNullable<RowGroup['columns'][number]['meta_data']>;
type SchemaPath = ReturnType<typeof getTreePath>;

const MIB = 1024 * 1024;
/** Limits of the description at the end of a file. */
const LARGEST_FOOTER = { bytes: 64 * MIB, members: 16 * MIB, groups: 10_000, elements: 2_000 };
const DEEPEST = 32;
/** Limits of a row group, which is held in memory. A cell is a value, once for each level that it is nested. */
const LARGEST_GROUP = { bytes: 4 * 1024 * MIB, rows: 4 * MIB, cells: 32 * MIB };
/** What grows more than this many times in unpacking is a decompression bomb, unless it stays small. */
const MOST_GROWTH = 200;
const HARMLESS = { group: 256 * MIB, rows: 1024 * MIB };

/** hyparquet's own, of which that of Zstandard writes as much as the data says instead of what the page says. */
export const compressors: Compressors = {
  ...unbounded,
  ZSTD: (input, length) => decompressZstd(input, new Uint8Array(length)),
};

/** Bytes of the footer, its length and the magic number at the end of a file. @param tail the last eight bytes */
export function footerBytes(tail: ArrayBuffer): number {
  const bytes = new DataView(tail).getUint32(0, true);
  if (bytes > LARGEST_FOOTER.bytes) throw new Error(`its footer has ${bytes} bytes`);
  return bytes + tail.byteLength;
}

/** @throws Error for a footer that describes what cannot be */
export function readFooter(footer: ArrayBuffer): FileMetaData {
  requireThrift(new DataView(footer), 0);
  const metadata = parquetMetadata(footer);
  const { row_groups: groups, schema } = metadata;
  if (groups.length > LARGEST_FOOTER.groups) throw new Error(`it has ${groups.length} row groups`);
  if (schema.length > LARGEST_FOOTER.elements) throw new Error(`its schema has ${schema.length} elements`);
  return metadata;
}

/** Walks over a struct as hyparquet reads it. @throws Error for numbers, lists and nesting beyond what parquet has */
function requireThrift(view: DataView, start: number): void {
  let [offset, members] = [start, 0];
  const skip = (bytes: number): void => {
    offset += bytes;
    if (bytes < 0 || offset > view.byteLength) throw new Error('its description ends too early');
  };
  const varInt = (): number => {
    const from = offset;
    // A longer one takes hyparquet time that grows with the square of its length.
    while (view.getUint8(offset) >= 0x80) if ((offset += 1) - from >= 10) throw new Error('a number of it is too long');
    offset += 1;
    return readVarInt({ view, offset: from });
  };
  const list = (depth: number): void => {
    const head = view.getUint8(offset);
    skip(1);
    const size = head >> 4 === 15 ? varInt() : head >> 4;
    if ((members += size) > LARGEST_FOOTER.members) throw new Error('its description is too large');
    for (let index = 0; index < size; index += 1) element(isBoolean(head & 15) ? 3 : head & 15, depth);
  };
  const element = (type: number, depth: number): void => {
    if (isBoolean(type)) return;
    if (type === 3) skip(1);
    else if (type <= 6) varInt();
    else if (type === 7) skip(8);
    else if (type === 8) skip(varInt());
    else if (type === 9) list(depth);
    else if (type === 12) struct(depth + 1);
    else throw new Error('its description has a member of no known type');
  };
  const struct = (depth: number): void => {
    if (depth > DEEPEST) throw new Error(`its description is nested deeper than ${DEEPEST} levels`);
    for (let byte = view.getUint8(offset); ; byte = view.getUint8(offset)) {
      skip(1);
      if ((byte & 15) === 0) return;
      if ((members += 1) > LARGEST_FOOTER.members) throw new Error('its description is too large');
      if (byte >> 4 === 0) varInt();
      element(byte & 15, depth);
    }
  };
  struct(0);
}

function isBoolean(type: number): boolean {
  return type === 1 || type === 2;
}

/** What the pages of a row group may come to altogether. */
class GroupBudget {
  private cells = 0;
  private packed = 0;
  private bytes = 0;

  takeCells(cells: number): void {
    if (!(cells >= 0)) throw new Error('a page of it has fewer than no values');
    this.cells += cells;
    if (this.cells > LARGEST_GROUP.cells)
      throw new Error(`a row group of it has more than ${LARGEST_GROUP.cells} values`);
  }

  takeBytes(packed: number, bytes: number): void {
    if (!(packed >= 0 && bytes >= 0)) throw new Error('a page of it has fewer than no bytes');
    this.packed += packed;
    this.bytes += bytes;
    if (this.bytes > LARGEST_GROUP.bytes) throw new Error('a row group of it is larger than 4 GiB');
    requireModestGrowth(this.packed, this.bytes, HARMLESS.group);
  }
}

function requireModestGrowth(packed: number, bytes: number, harmless: number): void {
  if (bytes <= harmless || bytes <= packed * MOST_GROWTH) return;
  throw new Error(`it grows more than ${MOST_GROWTH} times in unpacking, to more than ${harmless / MIB} MiB`);
}

/** Counts the rows of a file: a page may repeat one long value a million times. @throws Error beyond the limit */
export function rowSizes(fileBytes: number): (bytes: number) => void {
  let bytes = 0;
  return (more) => {
    bytes += more;
    requireModestGrowth(fileBytes, bytes, HARMLESS.rows);
  };
}

/**
 * Reads all pages of a row group without decoding their values.
 * @param slice bytes of the file
 * @throws Error for a page with counts that cannot be, or a group beyond the limits
 */
export async function requireReadable(
  { num_rows, columns }: RowGroup,
  metadata: FileMetaData,
  slice: (start: number, end: number) => Promise<ArrayBuffer>,
): Promise<void> {
  if (num_rows < 0 || num_rows > LARGEST_GROUP.rows) throw new Error(`a row group of it has ${num_rows} rows`);
  // Of two columns with one name hyparquet awaits one; an unhandled rejection of the other would end the process.
  const names = columns.map(({ meta_data }) => JSON.stringify(meta_data?.path_in_schema));
  if (new Set(names).size < names.length) throw new Error('a row group of it has two columns of one name');
  new GroupBudget().takeCells(Number(num_rows) * columns.length);
  const schema = parquetSchema(metadata);
  const budget = new GroupBudget();
  for (const { meta_data: column } of columns) {
    if (column === undefined) throw new Error('a column of it is not described');
    const start = Number(column.dictionary_page_offset ?? 0) || Number(column.data_page_offset);
    const view = new DataView(await slice(start, start + Number(column.total_compressed_size)));
    const path = getTreePath(schema, column.path_in_schema);
    if (path.length > DEEPEST) throw new Error(`a column of it is nested deeper than ${DEEPEST} levels`);
    checkPages({ view, offset: 0 }, column, path, budget);
  }
}

/** What the checks of a column's pages depend on. */
interface PageContext {
  readonly codec: ColumnMetaData['codec'];
  /** Levels of nesting. */
  readonly depth: number;
  /** Widths of the levels in bits; 0 = there are none. */
  readonly repetition: number;
  readonly definition: number;
  readonly budget: GroupBudget;
}

function checkPages(reader: DataReader, { codec }: ColumnMetaData, path: SchemaPath, budget: GroupBudget): void {
  const { view } = reader;
  const definition = bitWidth(getMaxDefinitionLevel(path));
  const context = { codec, depth: path.length, repetition: bitWidth(getMaxRepetitionLevel(path)), definition, budget };
  while (reader.offset < view.byteLength - 1) {
    requireThrift(view, reader.offset);
    const header = parquetHeader(reader);
    const { compressed_page_size: packed, uncompressed_page_size: size, dictionary_page_header: dictionary } = header;
    budget.takeBytes(packed, size);
    if (packed > view.byteLength - reader.offset) throw new Error('a page of it is longer than its column');
    const content = new Uint8Array(view.buffer, view.byteOffset + reader.offset, packed);
    reader.offset += packed;
    // Each value of a dictionary takes a byte or more.
    if (dictionary !== undefined && dictionary.num_values > size) throw new Error('a dictionary of it is too long');
    if (header.type === 'DATA_PAGE') checkFirstVersion(header, content, context);
    else if (header.type === 'DATA_PAGE_V2') checkSecondVersion(header, content, context);
  }
}

function checkFirstVersion(
  { data_page_header: header, uncompressed_page_size: size }: PageHeader,
  packed: Uint8Array,
  { codec, depth, repetition, definition, budget }: PageContext,
): void {
  if (header === undefined) return;
  budget.takeCells(header.num_values * depth);
  const reader = readerOf(decompressPage(packed, size, codec, compressors));
  for (const width of [repetition, definition]) if (width > 0) checkLevels(reader, width, header.num_values);
  checkValues(reader, header, budget);
}

function checkSecondVersion(
  { data_page_header_v2: header, uncompressed_page_size: size }: PageHeader,
  packed: Uint8Array,
  { codec, depth, repetition, definition, budget }: PageContext,
): void {
  if (header === undefined) return;
  const { num_values: values, num_nulls: nulls, num_rows: rows, repetition_levels_byte_length: first } = header;
  const levels = first + header.definition_levels_byte_length;
  requireAscending(0, nulls, values);
  requireAscending(0, rows, values);
  requireAscending(0, first, levels, Math.min(packed.length, size));
  budget.takeCells(values * depth);
  const reader = readerOf(packed);
  if (repetition > 0) checkRuns(reader, repetition, values);
  reader.offset = first;
  if (definition > 0) checkRuns(reader, definition, values);
  const rest = packed.subarray(definition > 0 ? levels : first);
  const isPacked = header.is_compressed !== false;
  checkValues(readerOf(isPacked ? decompressPage(rest, size - levels, codec, compressors) : rest), header, budget);
}

function requireAscending(...counts: readonly number[]): void {
  if (counts.every((count, index) => index === 0 || count >= (counts[index - 1] ?? 0))) return;
  throw new Error('a page of it has counts that contradict each other');
}

function readerOf(bytes: Uint8Array): DataReader {
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), offset: 0 };
}

function bitWidth(level: number): number {
  return 32 - Math.clz32(level);
}

/** Levels of a page of the first version: their length, then runs. */
function checkLevels(reader: DataReader, width: number, values: number): void {
  const bytes = reader.view.getUint32(reader.offset, true);
  const start = reader.offset + 4;
  reader.offset = start;
  checkRuns(reader, width, values);
  reader.offset = start + bytes;
}

/** Runs of the hybrid encoding. @throws Error for one that is longer than what is to be read */
function checkRuns(reader: DataReader, width: number, values: number): void {
  for (let seen = 0; seen < values && reader.offset < reader.view.byteLength;) {
    const head = readVarInt(reader) >>> 0;
    const isPacked = (head & 1) === 1;
    const count = isPacked ? (head >>> 1) * 8 : head >>> 1;
    // Packed values fill whole bytes.
    if (count > values - seen + (isPacked ? 7 : 0)) throw new Error('a page of it has more values than it says');
    seen += count;
    reader.offset += isPacked ? (head >>> 1) * width : (width + 7) >> 3;
  }
}

function checkValues(
  reader: DataReader,
  { encoding, num_values: values }: { readonly encoding: string | undefined; readonly num_values: number },
  budget: GroupBudget,
): void {
  if (encoding === 'RLE') checkLevels(reader, 1, values);
  else if (encoding === 'PLAIN_DICTIONARY' || encoding === 'RLE_DICTIONARY') {
    if (reader.offset >= reader.view.byteLength) return;
    const width = reader.view.getUint8(reader.offset);
    reader.offset += 1;
    checkRuns(reader, width, values);
  } else if (encoding === 'DELTA_BYTE_ARRAY') {
    // Each value may repeat all of the one before it.
    const [prefixes, suffixes] = [deltaLengths(reader, values), deltaLengths(reader, values)];
    const bytes = [...prefixes, ...suffixes].reduce((sum, each) => sum + each, 0);
    budget.takeBytes(0, bytes);
  }
}

function deltaLengths(reader: DataReader, values: number): Int32Array {
  const peek = { ...reader };
  // The sizes of blocks and of their parts come before the count.
  readVarInt(peek);
  readVarInt(peek);
  const count = readVarInt(peek);
  if (count < 0 || count > values) throw new Error('a page of it has more values than it says');
  const lengths = new Int32Array(count);
  deltaBinaryUnpack(reader, count, lengths);
  return lengths;
}
