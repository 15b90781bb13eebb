import { readPatch } from '../../../src/core/patch/patch.js';
import type { DistinctPatch } from '../tree/distinct.js';

/** Name, first and last line at base. */
export type Span = readonly [name: string, first: number, last: number];

/** Lines of Python files at base that patches change, by file, in order; of what they add, those around it. */
export function changedLines(
  patches: readonly Pick<DistinctPatch, 'source'>[],
): ReadonlyMap<string, readonly number[]> {
  const changed = new Map<string, Set<number>>();
  for (const { source } of patches) {
    const patch = readPatch(source);
    for (const { path, parsed } of patch.kind === 'ok' ? patch.files : []) {
      // What a patch brings is in no file that a test could reach on base.
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

/** The innermost functions of the lines; every function where none has any (they are the module's, or a class's). */
export function changedFunctions(functions: readonly Span[], lines: readonly number[]): ReadonlySet<number> {
  const begin = (index: number): number => functions[index]?.[1] ?? 0;
  const hasEnded = (index: number, line: number): boolean => (functions[index]?.[2] ?? 0) < line;
  // Of functions inside each other, the inner one begins later, and ends first.
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
