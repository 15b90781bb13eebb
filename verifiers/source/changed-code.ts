import { readPatch } from '../../src/core/patch/patch.js';
import type { BaseRepository } from './base-repository.js';
import { type Definition, definitionsOf, innermost } from './definitions.js';

/** What is asked of a repository. */
export type SourceOfBase = Pick<BaseRepository, 'ask' | 'text'>;

/** Lines of a definition that is shown whole, and around a changed line of a longer one. */
const WHOLE = 120;
const AROUND = 25;
const MOST_FILES = 8;

/** What a patch changes in one file of base. */
export interface ChangedCode {
  readonly path: string;
  /** The changed definitions as they are at base, long ones around the change. */
  readonly text: string;
  /** Lines of base, from 0, that the text shows. */
  readonly lines: ReadonlySet<number>;
  /** Names of what is changed. */
  readonly names: readonly string[];
  /** Names of what the patch defines. */
  readonly added: readonly string[];
  /** The changed definitions, with the lines that the patch adds. */
  readonly code: string;
}

/** The source files of a patch that are there at base, in the patch's order. @throws what the repository throws */
export async function changedCode(
  base: SourceOfBase,
  patch: string,
  signal: AbortSignal,
): Promise<readonly ChangedCode[]> {
  const parsed = readPatch(patch);
  if (parsed.kind !== 'ok') return [];
  const files = parsed.files.filter(({ role }) => role === 'source').slice(0, MOST_FILES);
  const changes = files.map(async ({ path, paths: [old = path], parsed: { hunks } }) => {
    const text = await base.text(old, signal);
    if (text === null) return [];
    const added = hunks.flatMap(({ lines }) => lines.filter((line) => line.startsWith('+')));
    const plain = added.map((line) => line.slice(1));
    return [new FileAtBase(old, text.split('\n')).change(touchedLines(hunks), plain)];
  });
  return (await Promise.all(changes)).flat();
}

/** Lines of base, from 0, that a patch removes or writes behind. */
function touchedLines(hunks: readonly { readonly oldStart: number; readonly lines: readonly string[] }[]): number[] {
  const touched = new Set<number>();
  for (const { oldStart, lines } of hunks) {
    let at = oldStart - 1;
    for (const line of lines) {
      if (line.startsWith('+')) touched.add(Math.max(0, at - 1));
      else if (line.startsWith('-')) touched.add(at);
      if (!/^[+\\]/.test(line)) at += 1;
    }
  }
  return [...touched].sort((a, b) => a - b);
}

class FileAtBase {
  private readonly definitions: readonly Definition[];

  constructor(
    private readonly path: string,
    private readonly lines: readonly string[],
  ) {
    this.definitions = definitionsOf(lines, path);
  }

  change(touched: readonly number[], added: readonly string[]): ChangedCode {
    const ranges = merged([
      ...touched.map((line) => this.rangeAround(line)),
      ...touched.flatMap((line) => this.headers(line)),
    ]);
    const names = touched.flatMap((line) => {
      const definition = innermost(this.definitions, line);
      return definition === null ? [] : [this.nameToFollow(definition)];
    });
    const shown = ranges.flatMap(([from, to]) => Array.from({ length: to - from }, (_, index) => from + index));
    return {
      path: this.path,
      text: ranges
        .map(([from, to]) => `[lines ${from + 1}-${to}]\n${this.lines.slice(from, to).join('\n')}`)
        .join('\n'),
      lines: new Set(shown),
      names: [...new Set(names)],
      added: definitionsOf(added, this.path).map(({ name }) => name),
      code: [...shown.map((line) => this.lines[line]), ...added].join('\n'),
    };
  }

  /** The definition that holds a line where it is short enough to be shown whole, else the lines around it. */
  private rangeAround(line: number): Range {
    const definition = innermost(this.definitions, line);
    if (definition !== null && !definition.isType && definition.end - definition.start <= WHOLE) {
      return [definition.start, definition.end];
    }
    return [Math.max(0, line - AROUND), Math.min(this.lines.length, line + AROUND + 1)];
  }

  /** The lines that name what holds a line. */
  private headers(line: number): readonly Range[] {
    const holders = this.definitions.filter(({ start, end }) => start <= line && line < end);
    return holders.map(({ start, header }) => [start, header + 1]);
  }

  /** A constructor is called by its class. */
  private nameToFollow({ name, start, end }: Definition): string {
    if (!/^(__\w+__|constructor|new|initialize)$/.test(name)) return name;
    const holder = this.definitions.filter((each) => each.isType && each.start <= start && end <= each.end).at(-1);
    return holder?.name ?? name;
  }
}

type Range = readonly [from: number, to: number];

function merged(ranges: readonly Range[]): readonly Range[] {
  const result: [number, number][] = [];
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = result.at(-1);
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else if (from < to) result.push([from, to]);
  }
  return result;
}
