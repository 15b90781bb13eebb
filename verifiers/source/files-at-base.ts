import type { SourceOfBase } from './changed-code.js';
import { type Definition, definitionsOf } from './definitions.js';
import { definitionOf, hitsIn, MATCHES, TEST_PATH, withoutLongTexts } from './read-sources.js';

/** A file at base, split into lines. */
export interface FileAtBase {
  readonly lines: readonly string[];
  readonly definitions: readonly Definition[];
}

export function isInside(inner: Definition, outer: Definition): boolean {
  return outer.start <= inner.start && inner.end <= outer.end;
}

/** The part of a definition that is shown. */
export interface Excerpt {
  readonly lines: readonly string[];
  /** True if it includes the members. */
  readonly isWhole: boolean;
}

/** Maximum lines of a definition shown whole; lines around a hit in a longer one; lines of a class before its members. */
const WHOLE = 120;
const AROUND = 12;
const OWN = 20;
const UNSHOWN = ' …';

/** A short definition whole, a long function around its hits, a long class as its attributes and the headers of its members. */
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

/** Excerpts in file order without duplicates; members follow the header line of what contains them. */
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

/** Maximum uses considered per name. */
const MOST_USES = 150;

/** `path:line:name` for each use of a name in the pattern, limited per name; then `#` with the total count of each. */
const USES = String.raw`pattern=$1 most=$2; shift 2
g grep -n -o -w -I -E -e "$pattern" -- "$@" | awk -F: -v most="$most" '{ n[$3]++ } n[$3] <= most { print } END { for (k in n) print "#" n[k] ":" k }'`;

/** A line that contains a name. */
export interface Use {
  readonly path: string;
  readonly line: number;
  readonly name: string;
}

/** Finds uses and definitions of names in the code at base, without tests. */
export class NamedPlaces {
  private readonly files = new Map<string, Promise<FileAtBase>>();

  constructor(
    private readonly base: SourceOfBase,
    private readonly globs: readonly string[],
    private readonly signal: AbortSignal,
  ) {}

  async uses(
    names: readonly string[],
  ): Promise<{ readonly uses: readonly Use[]; readonly counts: ReadonlyMap<string, number> }> {
    if (names.length === 0) return { uses: [], counts: new Map() };
    const args = [`(${names.join('|')})`, String(MOST_USES), ...this.paths()];
    const rows = ((await this.base.ask(USES, { args }, this.signal)) ?? '').split('\n');
    const counts = rows.flatMap((row): [string, number][] => {
      const [, count, name = ''] = /^#(\d+):(\w+)$/.exec(row) ?? [];
      return count === undefined ? [] : [[name, Number(count)]];
    });
    const uses = rows.flatMap((row) => {
      const [, path, line, name = ''] = /^([^#:][^:]*):(\d+):(\w+)$/.exec(row) ?? [];
      return path === undefined || TEST_PATH.test(path) ? [] : [{ path, line: Number(line) - 1, name }];
    });
    return { uses, counts: new Map(counts) };
  }

  async definitions(names: readonly string[]): Promise<readonly Use[]> {
    if (names.length === 0) return [];
    const args = [definitionOf(names), ...this.paths()];
    const wanted = new Set(names);
    return hitsIn((await this.base.ask(MATCHES, { args }, this.signal)) ?? '').flatMap(({ path, line, text }) => {
      const name = /\b(?:def|class|function|func|fn|struct|interface|trait|enum)\s+(?:\([^)]*\)\s*)?(\w+)/.exec(
        text,
      )?.[1];
      return name === undefined || !wanted.has(name) || TEST_PATH.test(path) ? [] : [{ path, line, name }];
    });
  }

  private paths(): readonly string[] {
    return [...this.globs, ':!*tests/*', ':!*test/*', ':!*test_*', ':!*.test.*', ':!*.spec.*'];
  }

  file(path: string): Promise<FileAtBase> {
    const known = this.files.get(path);
    if (known !== undefined) return known;
    const read = this.base.text(path, this.signal).then((text) => {
      const lines = (text ?? '').split('\n');
      return { lines, definitions: definitionsOf(lines, path) };
    });
    this.files.set(path, read);
    return read;
  }
}
