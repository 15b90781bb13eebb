import type { UnknownLabelsReport } from '../statistics/curves/unknown-labels.js';

/** `0.4218` as `42.2%`. */
export function percent(rate: number | null | undefined, digits = 1): string {
  return rate === null || rate === undefined ? '–' : `${(100 * rate).toFixed(digits)}%`;
}

/** `42.2% (38.0 to 46.5)`. */
export function withInterval(given: { value: number; low: number | null; high: number | null } | null): string {
  if (given === null) return '–';
  const { value, low, high } = given;
  return low === null || high === null
    ? percent(value)
    : `${percent(value)} (${(100 * low).toFixed(1)} to ${(100 * high).toFixed(1)})`;
}

/** A difference in percentage points, with its sign. */
export function points(difference: number): string {
  return `${difference < 0 ? '−' : '+'}${Math.abs(100 * difference).toFixed(1)} points`;
}

export function probability(p: number): string {
  if (p >= 0.995) return '1';
  return p < 0.001 ? '< 0.001' : p.toPrecision(2);
}

/** `p = 0.016`, `p < 0.001`. */
export function pValue(p: number): string {
  const text = probability(p);
  return text.startsWith('<') ? `p ${text}` : `p = ${text}`;
}

/** `1 issue`, `2 issues`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${amount(value)} ${value === 1 ? one : many}`;
}

/** For a report's first lines: how many labels are unknown; empty if none is. */
export function unknownLabelsSentences({ candidates, issues, reasons }: UnknownLabelsReport): readonly string[] {
  if (candidates === 0) return [];
  const [most] = reasons;
  const whole = issues === 0 ? '' : `; ${counted(issues, 'issue')} without any known label`;
  const why = most?.reason == null ? '' : ` Most frequent reason (${amount(most.candidates)}): ${most.reason}.`;
  return [`Unknown labels: ${counted(candidates, 'candidate')}${whole}; excluded from all rates.${why}`];
}

// Created once: creation takes longer than all the formatting.
const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const DECIMAL = new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 });

/** A whole number with thousands separators, or a short decimal. */
export function amount(value: number | null): string {
  if (value === null) return '–';
  return (Math.abs(value) < 10 ? DECIMAL : WHOLE).format(value);
}

export function dollars(value: number | null): string {
  return value === null ? '–' : `$${value.toFixed(value < 1 ? 4 : 2)}`;
}

/** A part of the report, the same in HTML and Markdown. All text is plain; renderers escape it. */
export interface Section {
  readonly title: string;
  readonly text: readonly string[];
  /** Names of the plots in this section. */
  readonly plots: readonly string[];
  readonly tables: readonly SectionTable[];
}

export interface SectionTable {
  readonly caption: string;
  readonly columns: readonly Column[];
  /** As many cells as columns. */
  readonly rows: readonly (readonly string[])[];
  /** Sort keys for a sortable table on a page, null = unknown; absent = not sortable. */
  readonly values?: readonly (readonly (string | number | null)[])[];
}

export interface Column {
  readonly name: string;
  readonly isNumber: boolean;
  /** Link target of a cell on a page. */
  readonly href?: (cell: string) => string;
  /** Text shown for a cell on a page; absent = the whole cell. */
  readonly text?: (cell: string) => string;
}

/** Pages of a service that its reports link to; a report in a file has none. */
export interface Place {
  /** Link to the page that the report belongs to. */
  readonly back: { readonly href: string; readonly text: string };
  readonly run: (id: string) => string;
}

/** Columns from their names; those that begin with `#` hold numbers. */
export function columns(...names: readonly string[]): readonly Column[] {
  return names.map((name) => ({ name: name.replace(/^#/, ''), isNumber: name.startsWith('#') }));
}
