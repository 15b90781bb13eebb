import { readPatch } from '../../src/core/patch/patch.js';
import type { BaseRepository } from './base-repository.js';
import { type Definition, definitionsOf, innermost } from './definitions.js';

/** The operations needed on a repository. */
export type SourceOfBase = Pick<BaseRepository, 'ask' | 'text'>;

/** Maximum lines of a definition shown whole; lines around a change in a longer one. */
const WHOLE = 120;
const AROUND = 25;
const MOST_FILES = 8;
/** Maximum lines by which a patch may be offset. */
const MOST_AWAY = 2_000;
/** Maximum lines of imports shown per file. */
const MOST_IMPORTS = 30;
const IMPORT = /^(?:import\b|from\s+\S+\s+import\b|#include\b|use\s|using\s)|^(?:const|let|var)\s.*\brequire\(/;

/** The changes of a patch in one file at base. */
export interface ChangedCode {
  readonly path: string;
  /** The changed definitions as they are at base; of long ones, the part around the change. */
  readonly text: string;
  /** Lines at base, from 0, that the text shows. */
  readonly lines: ReadonlySet<number>;
  /** Names of the changed definitions. */
  readonly names: readonly string[];
  /** Names that the patch defines. */
  readonly added: readonly string[];
  /** The changed definitions, plus the lines that the patch adds. */
  readonly code: string;
}

/** The patch's changes to source files that exist at base, in the patch's order. @throws what the repository throws */
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
    const lines = text.split('\n');
    return [new FileAtBase(old, lines).change(touchedLines(whereTheyStand(hunks, lines)), plain)];
  });
  return (await Promise.all(changes)).flat();
}

interface Hunk {
  /** From 1. */
  readonly oldStart: number;
  readonly lines: readonly string[];
}

/** A patch made on a neighbouring commit applies at an offset: finds the nearest place where the old text matches. */
function whereTheyStand(hunks: readonly Hunk[], base: readonly string[]): readonly Hunk[] {
  return hunks.map(({ oldStart, lines }) => {
    const old = lines.filter((line) => !/^[+\\]/.test(line)).map((line) => line.slice(1));
    const isAt = (start: number): boolean => old.every((line, index) => base[start + index] === line);
    const last = base.length - old.length;
    for (let away = 0; old.length > 0 && away <= Math.min(MOST_AWAY, base.length); away += 1) {
      const at = [oldStart - 1 - away, oldStart - 1 + away].find((start) => start >= 0 && start <= last && isAt(start));
      if (at !== undefined) return { oldStart: at + 1, lines };
    }
    return { oldStart, lines };
  });
}

/** Lines at base, from 0, that a patch removes or inserts after. */
function touchedLines(hunks: readonly Hunk[]): number[] {
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
      text: merged([...ranges, ...this.imports()])
        .map(([from, to]) => `[lines ${from + 1}-${to}]\n${this.lines.slice(from, to).join('\n')}`)
        .join('\n'),
      lines: new Set(shown),
      names: [...new Set(names)],
      added: definitionsOf(added, this.path).map(({ name }) => name),
      code: [...shown.map((line) => this.lines[line]), ...added].join('\n'),
    };
  }

  /** The definition that contains a line if it is short enough to show whole, else the lines around it. */
  private rangeAround(line: number): Range {
    const definition = innermost(this.definitions, line);
    if (definition !== null && !definition.isType && definition.end - definition.start <= WHOLE) {
      return [definition.start, definition.end];
    }
    return [Math.max(0, line - AROUND), Math.min(this.lines.length, line + AROUND + 1)];
  }

  /** The imports are shown because a reader must see whether a name that the patch uses is known in the file. */
  private imports(): readonly Range[] {
    const found: Range[] = [];
    for (let line = 0, left = MOST_IMPORTS; line < this.lines.length && left > 0; line += 1) {
      const text = this.lines[line] ?? '';
      if (!IMPORT.test(text)) continue;
      const open = /[({]\s*$/.test(text) ? this.lines.findIndex((each, at) => at > line && /^[)}]/.test(each)) : line;
      const end = Math.min((open < line ? line : open) + 1, line + left);
      found.push([line, end]);
      left -= end - line;
      line = end - 1;
    }
    return found;
  }

  /** The header lines of the definitions that contain a line. */
  private headers(line: number): readonly Range[] {
    const holders = this.definitions.filter(({ start, end }) => start <= line && line < end);
    return holders.map(({ start, header }) => [start, header + 1]);
  }

  /** A constructor is called by the name of its class. */
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
