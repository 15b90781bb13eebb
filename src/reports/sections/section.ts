/** A part of the report, the same in HTML and Markdown. All text is plain: whoever writes it out escapes it. */
export interface Section {
  readonly title: string;
  readonly text: readonly string[];
  /** Names of plots that belong here. */
  readonly plots: readonly string[];
  readonly tables: readonly SectionTable[];
}

export interface SectionTable {
  readonly caption: string;
  readonly columns: readonly Column[];
  /** As many cells as columns. */
  readonly rows: readonly (readonly string[])[];
  /** What a page lets its reader sort the rows by, null = not known; absent = they stand as they are. */
  readonly values?: readonly (readonly (string | number | null)[])[];
}

export interface Column {
  readonly name: string;
  readonly isNumber: boolean;
  /** Where a cell leads on a page. */
  readonly href?: (cell: string) => string;
  /** What a page shows of a cell; absent = all of it. */
  readonly text?: (cell: string) => string;
}

/** Where the pages are that a report in a service leads to; a report in a file leads to none. */
export interface Place {
  /** To what the report belongs to. */
  readonly back: { readonly href: string; readonly text: string };
  readonly run: (id: string) => string;
}

/** Columns from their names; those that begin with `#` hold numbers. */
export function columns(...names: readonly string[]): readonly Column[] {
  return names.map((name) => ({ name: name.replace(/^#/, ''), isNumber: name.startsWith('#') }));
}
