import type { SourceOfBase } from './changed-code.js';
import { definitionsOf } from './definitions.js';
import type { FileAtBase } from './excerpts.js';
import { definitionOf, hitsIn, MATCHES, TEST_PATH } from './read-sources.js';

/** Lines that hold a name which are looked at, of each name. */
const MOST_USES = 150;

/** `path:line:name` of what holds one of the names in the pattern, few of each; then `#` and how often each is there. */
const USES = String.raw`pattern=$1 most=$2; shift 2
g grep -n -o -w -I -E -e "$pattern" -- "$@" | awk -F: -v most="$most" '{ n[$3]++ } n[$3] <= most { print } END { for (k in n) print "#" n[k] ":" k }'`;

/** A line that names something. */
export interface Use {
  readonly path: string;
  readonly line: number;
  readonly name: string;
}

/** Where names stand in the code of base, tests left out. */
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
