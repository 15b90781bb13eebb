/** Thrown inside the reader; becomes a refusal with its message. */
export class UnreadablePatch extends Error {}

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * Cuts a patch into the texts of its files, in order, without changing a byte of them. Linear; hunks are skipped by
 * their counts, so that a removed line `-- a/x` is never taken for a header.
 * @throws UnreadablePatch when a hunk is cut off or holds a line that no hunk can hold
 */
export function fileSections(text: string): readonly string[] {
  const scan = new Scan();
  let offset = 0;
  while (offset < text.length) {
    const end = text.indexOf('\n', offset);
    const next = end === -1 ? text.length : end + 1;
    const line = text.slice(offset, end === -1 ? text.length : end);
    scan.line(line, text.startsWith('+++ ', next), offset);
    offset = next;
  }
  scan.end();
  return scan.starts.map((start, index) => text.slice(start, scan.starts[index + 1] ?? text.length));
}

class Scan {
  /** Offsets at which files begin. */
  readonly starts: number[] = [];
  private inGitHeader = false;
  private oldLeft = 0;
  private newLeft = 0;

  line(line: string, plusFollows: boolean, offset: number): void {
    if (this.oldLeft > 0 || this.newLeft > 0) this.hunkLine(line);
    else if (line.startsWith('diff --git ')) this.begin(offset, true);
    else if (line.startsWith('--- ') && plusFollows) {
      if (this.inGitHeader) this.inGitHeader = false;
      else this.begin(offset, false);
    } else this.hunkHeader(line);
  }

  end(): void {
    if (this.oldLeft > 0 || this.newLeft > 0) throw new UnreadablePatch('the last hunk is cut off');
    if (this.starts.length === 0) throw new UnreadablePatch('no "diff --git" or "---"/"+++" header was found');
  }

  private begin(offset: number, git: boolean): void {
    // What stands before the first header (a mail's head, say) is nobody's.
    this.starts.push(offset);
    this.inGitHeader = git;
  }

  private hunkHeader(line: string): void {
    const counts = HUNK.exec(line);
    if (counts === null) return;
    if (this.starts.length === 0) throw new UnreadablePatch('a hunk stands before any file header');
    this.inGitHeader = false;
    this.oldLeft = Number(counts[1] ?? 1);
    this.newLeft = Number(counts[2] ?? 1);
  }

  private hunkLine(line: string): void {
    const kind = line[0] ?? ' ';
    if (kind === '\\') return;
    if (kind !== ' ' && kind !== '-' && kind !== '+' && line !== '\r') {
      throw new UnreadablePatch(`a hunk holds the line "${line.slice(0, 80)}" or is cut off before it`);
    }
    if (kind !== '+') this.oldLeft -= 1;
    if (kind !== '-') this.newLeft -= 1;
    if (this.oldLeft < 0 || this.newLeft < 0) throw new UnreadablePatch('a hunk holds more lines than it says');
  }
}
