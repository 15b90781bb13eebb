/** Deeper suites, and longer paths, are not part of a test's name. */
const MOST_SUITES = 20;
const LONGEST_PATH = 1_000;

/** The suites around the lines of an indented report. */
export class OpenSuites {
  private open: { readonly indent: number; readonly title: string }[] = [];

  clear(): void {
    this.open = [];
  }

  /** Opens the suite that an indented line names. */
  line(line: string): void {
    const title = line.trim();
    const indent = line.length - line.trimStart().length;
    if (title === '' || indent === 0) return;
    this.close(indent);
    if (this.open.length < MOST_SUITES) this.open.push({ indent, title: title.slice(0, LONGEST_PATH) });
  }

  /** Suites around a line, the outermost first; and all that were opened last, as some parsers join them. */
  around(line: string): readonly (readonly string[])[] {
    const indent = line.length - line.trimStart().length;
    const titles = (suites: OpenSuites['open']): string[] => suites.map(({ title }) => title);
    const around = this.open.filter((suite) => suite.indent < indent);
    return around.length === this.open.length ? [titles(around)] : [titles(around), titles(this.open)];
  }

  private close(indent: number): void {
    while ((this.open.at(-1)?.indent ?? -1) >= indent) this.open.pop();
  }
}

/** The ways in which lists join a test with its suites. */
export function spellTestInSuites(suites: readonly string[], title: string): readonly string[] {
  const outermost = suites[0];
  const last = suites.at(-1);
  if (outermost === undefined || last === undefined) return [`- ${title}`];
  const path = [...suites, title];
  if (path.join(' ').length > LONGEST_PATH) return [];
  const joined = [' - ', ' > ', ' ', ' | ', '.'].map((between) => path.join(between));
  // Lighthouse's parser loses the first suite.
  return [...joined, path.slice(1).join(' - '), `${outermost}: ${title}`, `${last}.${title}`];
}
