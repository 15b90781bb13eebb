import { changedRuns, type ChangedRun, endOf, type Hunk, sideOf } from './changed-runs.js';

/** As in SWE-bench's `patch --fuzz=5`. */
const MOST_FUZZ = 5;
/** Lines compared for one patch; hostile hunks could be searched for at every line. */
const MOST_COMPARED = 20_000_000;

/** Work that searching for the hunks of a patch has taken so far. */
export interface SearchWork {
  /** Number of lines. */
  compared: number;
}

export interface Fit {
  readonly runs: readonly ChangedRun[];
  /** Lines at either end of a hunk's context that were ignored. */
  readonly fuzz: number;
}

/**
 * Finds where hunks fit by the rules of GNU patch: each at the place nearest to the one it names, with the smallest fuzz that has
 * such a place; with a fuzz of n, the outermost n lines of the context are ignored.
 * @param base lines of the file, each with its line feed if it has one
 * @param work shared by the files of a patch
 * @returns null if a hunk fits nowhere, if the file contains the change already, or if the search takes too long
 */
export function locateHunks(hunks: readonly Hunk[], base: readonly string[], work: SearchWork): Fit | null {
  const search = new Search(base, work);
  const runs: ChangedRun[] = [];
  let [fuzz, offset, frozen] = [0, 0, 0];
  for (const [index, hunk] of hunks.entries()) {
    const place = search.find(hunk, { offset, frozen, isFirst: index === 0 });
    if (place === null) return null;
    offset = place.at - hunk.oldStart;
    const own = changedRuns([hunk]).map((run) => ({ ...run, at: run.at + offset }));
    runs.push(...own);
    frozen = own.length === 0 ? frozen : endOf(own.at(-1));
    fuzz = Math.max(fuzz, place.fuzz);
  }
  return { runs, fuzz };
}

interface Bounds {
  /** Of the hunk before, from the place that it names. */
  readonly offset: number;
  /** Number of the last line that a hunk before changes. */
  readonly frozen: number;
  readonly isFirst: boolean;
}

/** The lines that a hunk is searched by. */
interface Pattern {
  readonly lines: readonly number[];
  readonly prefix: number;
  readonly suffix: number;
  /** Number that the hunk names for its first line. */
  readonly start: number;
}

class Search {
  private readonly ids = new Map<string, number>();
  private readonly base: readonly number[];

  constructor(
    base: readonly string[],
    private readonly work: SearchWork,
  ) {
    this.base = base.map((line) => this.idOf(line));
  }

  find(hunk: Hunk, bounds: Bounds): { readonly at: number; readonly fuzz: number } | null {
    const [old, changed] = [this.pattern(hunk, '-'), this.pattern(hunk, '+')];
    const most = Math.min(MOST_FUZZ, Math.max(old.prefix, old.suffix));
    for (let fuzz = 0; fuzz <= most; fuzz += 1) {
      const at = this.locate(old, bounds, fuzz);
      if (at !== null) return this.work.compared > MOST_COMPARED ? null : { at, fuzz };
      if (bounds.isFirst && this.locate(changed, bounds, fuzz) !== null) return null;
    }
    return null;
  }

  private pattern(hunk: Hunk, sign: '-' | '+'): Pattern {
    const content = hunk.lines.filter((line) => !line.startsWith('\\'));
    const prefix = content.findIndex((line) => !line.startsWith(' '));
    const suffix = content.length - 1 - content.findLastIndex((line) => !line.startsWith(' '));
    const lines = sideOf(hunk, sign).map((line) => this.idOf(line));
    return { lines, prefix: Math.max(0, prefix), suffix, start: hunk.oldStart };
  }

  private idOf(line: string): number {
    const id = this.ids.get(line) ?? this.ids.size;
    this.ids.set(line, id);
    return id;
  }

  /** @returns number of the line at which the pattern begins, its ignored lines included */
  private locate(pattern: Pattern, { offset, frozen }: Bounds, fuzz: number): number | null {
    const { lines, prefix, suffix, start } = pattern;
    const guess = start + offset;
    if (lines.length === 0) return guess > this.base.length + 1 ? null : guess;
    const least = fuzz - Math.max(prefix, suffix);
    const [skipped, cut] = [Math.max(0, least + prefix), Math.max(0, least + suffix)];
    const isAt = (at: number): boolean => at > frozen && this.matches(lines, at, { skipped, cut });
    const last = this.base.length - (lines.length - cut) + 1;
    // Less context on one side than on the other: the hunk was made at that end of the file.
    if (least + prefix < 0 && start <= 1) {
      return (least + suffix >= 0 || lines.length === this.base.length) && isAt(1) ? 1 : null;
    }
    if (least + suffix < 0) return isAt(last) ? last : null;
    return this.nearest(guess, last, isAt);
  }

  private nearest(guess: number, last: number, isAt: (at: number) => boolean): number | null {
    const farthest = Math.max(last - guess, guess - 1);
    // The place that a hunk names may be far outside of the file.
    for (
      let distance = Math.max(0, guess - last, 1 - guess);
      distance <= farthest && this.work.compared <= MOST_COMPARED;
      distance += 1
    ) {
      const at = [guess + distance, guess - distance].find((each) => each <= last && isAt(each));
      if (at !== undefined) return at;
    }
    return null;
  }

  private matches(
    lines: Pattern['lines'],
    at: number,
    { skipped, cut }: { readonly skipped: number; readonly cut: number },
  ): boolean {
    if (at < 1) return false;
    this.work.compared += 1;
    for (let index = skipped; index < lines.length - cut; index += 1) {
      if (this.base[at - 1 + index] !== lines[index]) return false;
      this.work.compared += 1;
    }
    return true;
  }
}
