import type { Definition } from './definitions.js';
import { withoutLongTexts } from './read-sources.js';

/** A file of base, by lines. */
export interface FileAtBase {
  readonly lines: readonly string[];
  readonly definitions: readonly Definition[];
}

export function isInside(inner: Definition, outer: Definition): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}

/** Lines of a definition that is shown whole, and around a line of a longer one that holds a name. */
const WHOLE = 120;
const AROUND = 12;

/** A function whole, a long one around what it is chosen for; of a class the lines that name its members. */
export function excerptOf(
  { lines, definitions }: FileAtBase,
  { definition, hits }: { readonly definition: Definition; readonly hits: ReadonlySet<number> },
): readonly string[] {
  const { start, end, header, isType } = definition;
  const whole = withoutLongTexts(lines.slice(start, end));
  if (whole.length <= (isType ? WHOLE / 3 : WHOLE)) return [`[lines ${start + 1}-${end}]`, ...whole];
  const head = lines.slice(start, header + 1);
  if (isType) {
    const members = definitions.filter((each) => each !== definition && isInside(each, definition)).slice(0, 60);
    return [`[line ${start + 1}]`, ...head, ...members.map((member) => `${lines[member.header] ?? ''} …`)];
  }
  const kept = new Set(
    [...hits].flatMap((hit) => Array.from({ length: 2 * AROUND + 1 }, (_, at) => hit - AROUND + at)),
  );
  for (let line = header; line < Math.min(end, header + 2 * AROUND); line += 1) kept.add(line);
  const around = [...kept].filter((line) => line > header && line < end).sort((a, b) => a - b);
  const shown = around
    .slice(0, WHOLE)
    .flatMap((line, index) => [...(index > 0 && around[index - 1] !== line - 1 ? ['…'] : []), lines[line] ?? '']);
  return [`[lines ${start + 1}-${end}, in parts]`, ...head, ...shown];
}

/** In the file's order; members stand behind the line that names what holds them. */
export function textOf(parts: ReadonlyMap<number, readonly string[]>, { lines, definitions }: FileAtBase): string {
  const told = new Set<number>();
  return [...parts]
    .sort(([a], [b]) => a - b)
    .map(([start, own]) => {
      const holders = definitions.filter((each) => each.start < start && start < each.end && each.isType);
      const heads = holders.filter((holder) => !parts.has(holder.start) && !told.has(holder.start));
      for (const holder of heads) told.add(holder.start);
      return [...heads.map(({ header }) => `${lines[header] ?? ''} …`), ...own].join('\n');
    })
    .join('\n');
}
