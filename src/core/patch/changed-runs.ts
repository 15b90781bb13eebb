import type { StructuredPatch } from 'diff';

export type Hunk = StructuredPatch['hunks'][number];

/** The lines that a patch replaces in one place of a file, without context. */
export interface ChangedRun {
  /** Number in the old file, from 1, of the first removed line, or of the line before which lines are added. */
  readonly at: number;
  /** With their sign; a note on a missing line feed follows its line. */
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** What hunks change, whatever context they show and wherever one ends and the next begins. */
export function changedRuns(hunks: readonly Hunk[]): readonly ChangedRun[] {
  const runs: { at: number; removed: string[]; added: string[] }[] = [];
  for (const { oldStart, lines } of hunks) {
    let at = oldStart;
    let run: (typeof runs)[number] | null = null;
    let side: string[] = [];
    for (const line of lines) {
      if (line.startsWith(' ')) {
        [run, side] = [null, []];
      } else if (!line.startsWith('\\')) {
        if (run === null) runs.push((run = { at, removed: [], added: [] }));
        side = line.startsWith('-') ? run.removed : run.added;
      }
      side.push(line);
      at += Number(/^[- ]/.test(line));
    }
  }
  return runs;
}

/** Lines of context that git shows around a change. */
const CONTEXT = 3;

/**
 * Prints hunks with git's usual context.
 * @param runs in the order of the file, without overlap
 * @param base lines of the file, each with its line feed if it has one
 */
export function printHunks(runs: readonly ChangedRun[], base: readonly string[]): string {
  const printed: string[] = [];
  let grown = 0;
  for (let first = 0; first < runs.length;) {
    let next = first + 1;
    while (next < runs.length && startOf(runs[next]) - endOf(runs[next - 1]) <= 2 * CONTEXT) next += 1;
    const group = runs.slice(first, next);
    const from = Math.max(0, startOf(group[0]) - CONTEXT);
    const to = Math.min(base.length, endOf(group.at(-1)) + CONTEXT);
    const more = group.reduce((sum, { removed, added }) => sum + countLines(added) - countLines(removed), 0);
    printed.push(`@@ -${range(from, to - from)} +${range(from + grown, to - from + more)} @@\n`);
    let at = from;
    for (const run of group) {
      printed.push(
        contextOf(base.slice(at, startOf(run))),
        ...[...run.removed, ...run.added].map((line) => `${line}\n`),
      );
      at = endOf(run);
    }
    printed.push(contextOf(base.slice(at, to)));
    grown += more;
    first = next;
  }
  return printed.join('');
}

function startOf(run: ChangedRun | undefined): number {
  return run === undefined ? 0 : run.at - 1;
}

/** Index of the line after the last removed one. */
export function endOf(run: ChangedRun | undefined): number {
  return run === undefined ? 0 : run.at - 1 + countLines(run.removed);
}

function countLines(lines: readonly string[]): number {
  return lines.filter((line) => !line.startsWith('\\')).length;
}

/** For an empty side, git gives the number of the line before it. */
function range(from: number, count: number): string {
  return `${count === 0 ? from : from + 1},${count}`;
}

function contextOf(lines: readonly string[]): string {
  return lines.map((line) => (line.endsWith('\n') ? ` ${line}` : ` ${line}\n\\ No newline at end of file\n`)).join('');
}

/** One side of a hunk as lines of a file, each with its line feed unless a note denies it. */
export function sideOf({ lines }: Hunk, sign: '-' | '+'): string[] {
  const side: string[] = [];
  let isOnSide = false;
  for (const line of lines) {
    const last = side.at(-1);
    if (line.startsWith('\\')) {
      if (isOnSide && last !== undefined) side[side.length - 1] = last.slice(0, -1);
      continue;
    }
    isOnSide = line.startsWith(' ') || line.startsWith(sign);
    if (isOnSide) side.push(`${line.slice(1)}\n`);
  }
  return side;
}
