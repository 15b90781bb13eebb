import { visibleLine } from '../../core/hostile-text.js';
import type { Located } from '../records/records.js';
import type { RunReader } from './saved-run.js';

/** Columns with values that the reader of a file's rows does not read. */
export interface UnreadNote {
  readonly file: string;
  readonly format: string;
  readonly columns: readonly string[];
  /** Number of rows with exactly these unread columns. */
  readonly records: number;
}

/** Counts rows by file and by the columns that are not read. */
export class UnreadColumns {
  private readonly counts = new Map<string, UnreadNote>();

  /** Counts the row if its reader leaves out a column with a value. */
  add({ file, value }: Located, reader: Pick<RunReader, 'format' | 'columns'> | undefined): void {
    const row = value as Readonly<Record<string, unknown>>;
    const read = reader?.columns?.(row);
    if (reader === undefined || read === undefined) return;
    const columns = Object.keys(row)
      .filter((column) => !read.includes(column) && !isEmpty(row[column]))
      .slice(0, MOST_COLUMNS);
    if (columns.length === 0) return;
    const key = JSON.stringify([file, reader.format, ...columns.toSorted()]);
    const known = this.counts.get(key);
    if (known !== undefined || this.counts.size < MOST_NOTES) {
      this.counts.set(key, { file, format: reader.format, columns, records: (known?.records ?? 0) + 1 });
    }
  }

  notes(): readonly UnreadNote[] {
    return [...this.counts.values()];
  }
}

/** A file whose rows all differ is no table. */
const [MOST_NOTES, MOST_COLUMNS] = [100, 30];

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
}

/** One line for people. */
export function unreadNoteText({ file, format, columns, records }: UnreadNote): string {
  const of = records === 1 ? 'one record' : `${records} records`;
  const named = columns.map((column) => `"${column}"`).join(', ');
  return visibleLine(`${file}: not read in ${of} of ${format}: ${named}`);
}
