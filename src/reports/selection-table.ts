import type { RunResult } from '../core/run-result.js';
import type { RankedCandidate } from '../core/selection.js';

/** Labels by candidate id; only reports may join them, after the selection was made. */
export type Labels = ReadonlyMap<string, boolean>;

/** The candidates in ranking order as a table of text, one line each; a last column with the labels where given. */
export function selectionTable(result: RunResult, labels: Labels | null): string {
  const outOf = (measure: string): number | null =>
    result.verdicts.flatMap((each) => (each.kind === 'scored' && each.measure === measure ? [each.out_of] : []))[0] ??
    null;
  const regression = outOf('regression');
  const reproduction = outOf('reproduction');
  const header = ['rank', 'candidate', 'P(YES)', 'regression', 'tests', 'notes', ...(labels === null ? [] : ['right'])];
  const rows = result.selection.ranking.map((candidate) => [
    candidate.candidate_id === result.selection.candidate_id ? `* ${candidate.rank}` : `  ${candidate.rank}`,
    printable(candidate.candidate_id),
    number(candidate, 'execution_free', 3),
    fraction(candidate, 'regression', regression),
    fraction(candidate, 'reproduction', reproduction),
    printable(candidate.flags.join(' ')),
    ...(labels === null ? [] : [label(labels, candidate.candidate_id)]),
  ]);
  return table([header, ...rows]);
}

/** Columns padded to their widest cell, two spaces apart. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Text from outside without control, direction and zero-width characters: it can neither steer a terminal nor mislead. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, '?');
}

function number(candidate: RankedCandidate, measure: string, digits: number): string {
  const value = candidate.scores[measure] ?? null;
  return value === null ? '-' : value.toFixed(digits);
}

function fraction(candidate: RankedCandidate, measure: string, outOf: number | null): string {
  const value = candidate.scores[measure] ?? null;
  return value === null ? '-' : `${value}/${outOf ?? '?'}`;
}

function label(labels: Labels, id: string): string {
  const right = labels.get(id);
  return right === undefined ? '?' : right ? 'yes' : 'no';
}
