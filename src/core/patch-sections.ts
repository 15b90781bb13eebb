/** Thrown inside the reader; becomes a refusal with its message. */
export class UnreadablePatch extends Error {}

/** One file's part of a patch. */
export interface FileSection {
  /** Its bytes as they came: what is applied. */
  readonly text: string;
  /**
   * The same for a strict parser: empty lines inside a hunk are the empty context lines that git takes them for, and what
   * stands behind a hunk without belonging to the patch (blank lines, a mail's signature) is left out, as git does.
   */
  readonly strict: string;
}

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * Cuts a patch into the parts of its files, in order. Linear; hunks are read by their counts, so that a removed line
 * `-- a/x` is never taken for a header.
 * @throws UnreadablePatch when a hunk is cut off or holds a line that no hunk can hold
 */
export function fileSections(text: string): readonly FileSection[] {
  const scan = new Scan();
  let offset = 0;
  while (offset < text.length) {
    const end = text.indexOf('\n', offset);
    const next = end === -1 ? text.length : end + 1;
    scan.line(text.slice(offset, end === -1 ? text.length : end), text.startsWith('+++ ', next), offset);
    offset = next;
  }
  return scan.end().map(({ start, strict }, index, all) => ({
    text: text.slice(start, all[index + 1]?.start ?? text.length),
    strict: `${strict.join('\n')}\n`,
  }));
}

interface Begun {
  readonly start: number;
  readonly strict: string[];
}

class Scan {
  private readonly sections: Begun[] = [];
  /** Between a file's first header line and its first hunk, where every line belongs to it. */
  private inHeader = false;
  private namesSeen = false;
  private oldLeft = 0;
  private newLeft = 0;

  line(line: string, plusFollows: boolean, offset: number): void {
    if (this.oldLeft > 0 || this.newLeft > 0) this.hunkLine(line);
    else if (line.startsWith('diff --git ')) this.begin(offset, line, false);
    else if (plusFollows && this.beginsPlainFile(line)) this.begin(offset, line, true);
    else if (HUNK.test(line)) this.hunkHeader(line);
    else if (this.inHeader || line.startsWith('\\')) this.keep(line);
  }

  end(): readonly Begun[] {
    if (this.oldLeft > 0 || this.newLeft > 0) throw new UnreadablePatch('the last hunk is cut off');
    if (this.sections.length === 0) throw new UnreadablePatch('no "diff --git" or "---"/"+++" header was found');
    return this.sections;
  }

  /** A `---` that is not the one of the git header it stands in. */
  private beginsPlainFile(line: string): boolean {
    return line.startsWith('--- ') && (!this.inHeader || this.namesSeen);
  }

  private begin(offset: number, line: string, namesSeen: boolean): void {
    this.sections.push({ start: offset, strict: [line] });
    this.inHeader = true;
    this.namesSeen = namesSeen;
  }

  private keep(line: string): void {
    this.sections.at(-1)?.strict.push(line);
    if (line.startsWith('--- ')) this.namesSeen = true;
  }

  private hunkHeader(line: string): void {
    const counts = HUNK.exec(line);
    if (this.sections.length === 0) throw new UnreadablePatch('a hunk stands before any file header');
    this.keep(line);
    this.inHeader = false;
    this.oldLeft = Number(counts?.[1] ?? 1);
    this.newLeft = Number(counts?.[2] ?? 1);
  }

  private hunkLine(line: string): void {
    const whole = line === '' || line === '\r' ? ` ${line}` : line;
    const [inOld, inNew] = [/^[ -]/.test(whole), /^[ +]/.test(whole)];
    if (!inOld && !inNew && !whole.startsWith('\\')) {
      throw new UnreadablePatch(`a hunk holds the line "${line.slice(0, 80)}" or is cut off before it`);
    }
    this.keep(whole);
    this.oldLeft -= Number(inOld);
    this.newLeft -= Number(inNew);
    if (this.oldLeft < 0 || this.newLeft < 0) throw new UnreadablePatch('a hunk holds more lines than it says');
  }
}
