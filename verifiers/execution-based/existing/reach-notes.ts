import { z } from 'zod';
import { asJson, listOf } from '../../../src/core/json.js';
import { moduleLabel } from '../../../src/core/run/issue.js';
import { readPatch } from '../../../src/core/patch/patch.js';
import type { DistinctPatch } from '../execution-context.js';

/* The tracer's notes on test files that ran on base. */

const MARKS_A_FILE = 100_000;

const Reached = z.object({
  t: z.string(),
  s: z.enum(['passed', 'failed', 'skipped']),
  k: z.string(),
  d: z.number(),
  r: listOf(z.int()),
});
const Functions = z.object({ f: z.string(), k: z.string(), n: listOf(z.tuple([z.string(), z.int(), z.int()])) });
const LeftOut = z.object({ o: z.string(), k: z.string() });
const Note = z.union([Reached, Functions, LeftOut]);

/** One test file on base, and what it executes of one source file. */
export const Mapped = z.object({
  tests: z.array(
    z.object({
      id: z.string(),
      passed: z.boolean(),
      seconds: z.number(),
      /** Indices into `functions`. */
      reached: z.array(z.int()),
    }),
  ),
  /** Name, first and last line at base; empty when the file was not loaded. */
  functions: z.array(z.tuple([z.string(), z.int(), z.int()])),
  /** Whether all tests of the file ran. */
  whole: z.boolean(),
});
export type Mapped = z.infer<typeof Mapped>;

/** The notes of one command. */
export interface Noted {
  readonly key: string;
  /** False if time ran out before the last test. */
  readonly isWhole: boolean;
  readonly lines: readonly string[];
}

type Test = Omit<Mapped['tests'][number], 'reached'> & { readonly marks: number[] };

/** By test file, then by source in their order. */
export function mapped(
  { key, isWhole, lines }: Noted,
  files: readonly string[],
  sources: readonly string[],
): Map<string, Mapped[]> {
  const functions = new Map<string, Mapped['functions']>();
  const tests = new Map<string, Test>();
  const cut = new Set<string>();
  const ownerOf = owners(files);
  for (const line of lines) {
    const note = Note.safeParse(asJson(line)).data;
    if (note?.k !== key) continue;
    if ('f' in note) functions.set(note.f, note.n);
    else if ('o' in note) cut.add(ownerOf(note.o) ?? '');
    else tests.set(note.t, together(note, tests.get(note.t)));
  }
  const byFile = new Map<string, Test[]>();
  for (const test of tests.values()) {
    const file = ownerOf(test.id);
    if (file === null) continue;
    const own = byFile.get(file);
    if (own === undefined) byFile.set(file, [test]);
    else own.push(test);
  }
  const mapOf = (file: string, own: readonly Test[], place: number): Mapped => ({
    tests: own.map(({ marks, ...test }) => ({
      ...test,
      reached: marks.filter((mark) => Math.floor(mark / MARKS_A_FILE) === place).map((mark) => mark % MARKS_A_FILE),
    })),
    functions: functions.get(sources[place] ?? '') ?? [],
    whole: isWhole && !cut.has(file),
  });
  return new Map([...byFile].map(([file, own]) => [file, sources.map((_, place) => mapOf(file, own, place))]));
}

/** The durations of a test recorded twice are added; it passed if it passed both times. */
function together({ t: id, s, d, r }: z.infer<typeof Reached>, earlier: Test | undefined): Test {
  const { passed = true, seconds = 0, marks = [] } = earlier ?? {};
  for (const mark of r) marks.push(mark);
  return { id, passed: passed && s === 'passed', seconds: seconds + d, marks };
}

/** The file that a test belongs to, by its id: `path::test`, or `module.Class.test`. */
function owners(files: readonly string[]): (test: string) => string | null {
  const byName = new Map<string, string>();
  for (const file of files) {
    for (const name of [file, moduleLabel(file), file.replace(/\.py$/, '').replaceAll('/', '.')])
      byName.set(name, file);
  }
  return (test) => {
    const end = test.indexOf('::');
    const name = end === -1 ? test.split('.').slice(0, -2).join('.') : test.slice(0, end);
    return byName.get(name) ?? null;
  };
}

/** Name, first and last line at base. */
export type Span = readonly [name: string, first: number, last: number];

/** Lines of Python files at base that patches change, by file, ascending; for added lines, the lines around them. */
export function changedLines(
  patches: readonly Pick<DistinctPatch, 'source'>[],
): ReadonlyMap<string, readonly number[]> {
  const changed = new Map<string, Set<number>>();
  for (const { source } of patches) {
    const patch = readPatch(source);
    for (const { path, parsed } of patch.kind === 'ok' ? patch.files : []) {
      // No test on base can reach a file that a patch creates.
      if (!path.endsWith('.py') || parsed.isCreate === true) continue;
      const lines = changed.get(path) ?? new Set<number>();
      changed.set(path, lines);
      for (const hunk of parsed.hunks) for (const line of linesOf(hunk)) lines.add(line);
    }
  }
  return new Map([...changed].map(([path, lines]) => [path, [...lines].sort((a, b) => a - b)]));
}

function linesOf({ oldStart, lines }: { readonly oldStart: number; readonly lines: readonly string[] }): number[] {
  const found: number[] = [];
  let line = oldStart;
  for (const text of lines) {
    if (text.startsWith('-')) found.push(line);
    if (text.startsWith('+')) found.push(line, line - 1);
    if (/^[- ]/.test(text)) line += 1;
  }
  return found;
}

/** The innermost functions around the lines; all functions if no line is inside one (module or class level). */
export function changedFunctions(functions: readonly Span[], lines: readonly number[]): ReadonlySet<number> {
  const begin = (index: number): number => functions[index]?.[1] ?? 0;
  const hasEnded = (index: number, line: number): boolean => (functions[index]?.[2] ?? 0) < line;
  // Of nested functions, the inner one begins later and ends first.
  const waiting = [...functions.keys()].sort((a, b) => begin(a) - begin(b)).values();
  const around: number[] = [];
  const found = new Set<number>();
  let next = waiting.next();
  for (const line of lines) {
    for (; next.done !== true && begin(next.value) <= line; next = waiting.next()) around.push(next.value);
    let innermost = around.at(-1);
    while (innermost !== undefined && hasEnded(innermost, line)) {
      around.pop();
      innermost = around.at(-1);
    }
    if (innermost !== undefined) found.add(innermost);
  }
  return found.size > 0 ? found : new Set(functions.keys());
}
