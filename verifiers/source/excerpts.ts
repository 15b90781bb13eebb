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

/** What is shown of a definition. */
export interface Excerpt {
  readonly lines: readonly string[];
  /** Its members are in it. */
  readonly isWhole: boolean;
}

/** Lines of a definition that is shown whole, around a line of a longer one that holds a name, and of a class before its members. */
const WHOLE = 120;
const AROUND = 12;
const OWN = 20;
const UNSHOWN = ' …';

/** A function whole, a long one around what it is chosen for; of a class its own attributes and the lines that name its members. */
export function excerptOf(
  { lines, definitions }: FileAtBase,
  { definition, hits }: { readonly definition: Definition; readonly hits: ReadonlySet<number> },
): Excerpt {
  const { start, end, header, isType } = definition;
  const whole = withoutLongTexts(lines.slice(start, end));
  if (whole.length <= (isType ? WHOLE / 3 : WHOLE)) {
    return { lines: [`[lines ${start + 1}-${end}]`, ...whole], isWhole: true };
  }
  const head = lines.slice(start, header + 1);
  if (isType) {
    const members = definitions.filter((each) => each !== definition && isInside(each, definition)).slice(0, 60);
    const own = withoutLongTexts(lines.slice(header + 1, members[0]?.start ?? end)).slice(0, OWN);
    const named = members.map((member) => `${lines[member.header] ?? ''}${UNSHOWN}`);
    return {
      lines: [`[line ${start + 1}]`, ...head, ...own.filter((line) => line.trim() !== ''), ...named],
      isWhole: false,
    };
  }
  const kept = new Set(
    [...hits].flatMap((hit) => Array.from({ length: 2 * AROUND + 1 }, (_, at) => hit - AROUND + at)),
  );
  for (let line = header; line < Math.min(end, header + 2 * AROUND); line += 1) kept.add(line);
  const around = [...kept].filter((line) => line > header && line < end).sort((a, b) => a - b);
  const shown = around
    .slice(0, WHOLE)
    .flatMap((line, index) => [...(index > 0 && around[index - 1] !== line - 1 ? ['…'] : []), lines[line] ?? '']);
  return { lines: [`[lines ${start + 1}-${end}, in parts]`, ...head, ...shown], isWhole: false };
}

/** In the file's order, nothing twice; members stand behind the line that names what holds them. */
export function textOf(parts: ReadonlyMap<number, Excerpt>, { lines, definitions }: FileAtBase): string {
  const told = new Set<number>();
  const inAnother = ({ start }: Definition, another: Definition): boolean =>
    another.start < start && start < another.end && parts.get(another.start)?.isWhole === true;
  const shown = definitions.filter(
    (each) => parts.has(each.start) && !definitions.some((another) => inAnother(each, another)),
  );
  const shownBelow = new Set(shown.map(({ header }) => `${lines[header] ?? ''}${UNSHOWN}`));
  return shown
    .map(({ start }) => {
      const own = (parts.get(start)?.lines ?? []).filter((line) => !shownBelow.has(line));
      const holders = definitions.filter((each) => each.start < start && start < each.end && each.isType);
      const heads = holders.filter((holder) => !parts.has(holder.start) && !told.has(holder.start));
      for (const holder of heads) told.add(holder.start);
      return [...heads.map(({ header }) => `${lines[header] ?? ''}${UNSHOWN}`), ...own].join('\n');
    })
    .join('\n');
}
