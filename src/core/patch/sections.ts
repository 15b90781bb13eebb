import type { StructuredPatch } from 'diff';

/** The section of one file in a patch. */
export interface FileSection {
  /** Its original bytes, which are applied. */
  readonly text: string;
  /**
   * Its header normalised for a strict parser, with git's meaning: one spelling per line, and without lines that belong
   * to no header and no hunk (blank lines, a mail signature).
   */
  readonly header: string;
  /** As `diff` would parse them; empty lines inside a hunk are empty context lines. */
  readonly hunks: StructuredPatch['hunks'];
}

/** The first line of a hunk, with its places and counts. */
export const HUNK_HEADER = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const NAME = /^(---|\+\+\+) /;
/** Bounds on the work of reading; no real fix is larger. */
const MOST_FILES = 5_000;
const MOST_LINES = 500_000;
/** Git copies the file for each. */
const MOST_HUNKS = 20_000;
const LONGEST_HEADER = 50;

/**
 * Splits a patch into the sections of its files, in order. Linear; hunks are read by their line counts, so that a
 * removed line `-- a/x` is never mistaken for a header.
 * @throws UnreadablePatch when a hunk is truncated or detached from a header, contains a line that no hunk can contain,
 * or when git could read a header differently
 */
export function fileSections(text: string): readonly FileSection[] {
  const scan = new Scan();
  let offset = 0;
  for (let lines = 0; offset < text.length; lines += 1) {
    if (lines === MOST_LINES) throw new UnreadablePatch(`it has more than ${MOST_LINES} lines`, 'too-large');
    const end = text.indexOf('\n', offset);
    const next = end === -1 ? text.length : end + 1;
    scan.line(text.slice(offset, end === -1 ? text.length : end), text.startsWith('+++ ', next), offset);
    offset = next;
  }
  return scan.end().map(({ start, header, hunks }, index, all) => ({
    text: text.slice(start, all[index + 1]?.start ?? text.length),
    header: `${header.join('\n')}\n`,
    hunks,
  }));
}

interface Begun {
  readonly start: number;
  readonly header: string[];
  readonly hunks: StructuredPatch['hunks'];
}

/** State of the scan, relative to the latest section. */
type Place = 'nothing' | 'git-header' | 'plus-name' | 'before-hunk' | 'after-hunk';

class Scan {
  private readonly sections: Begun[] = [];
  private place: Place = 'nothing';
  private plain = false;
  private oldLeft = 0;
  private newLeft = 0;
  /** Lines of the latest hunk. */
  private lines: string[] = [];
  private hunks = 0;

  line(line: string, plusFollows: boolean, offset: number): void {
    if (this.oldLeft > 0 || this.newLeft > 0) this.hunkLine(line);
    else if (line.startsWith('diff --git ')) this.begin(offset, line, false);
    else if (line.startsWith('@@')) this.hunkHeader(line);
    else if (this.place === 'plus-name') this.name(line, 'before-hunk');
    else if (plusFollows && line.startsWith('--- ')) this.minusName(line, offset);
    else if (this.place === 'git-header') this.headerLine(line);
    else this.otherLine(line);
  }

  end(): readonly Begun[] {
    if (this.oldLeft > 0 || this.newLeft > 0) throw new UnreadablePatch('the last hunk is cut off');
    if (this.sections.length === 0) throw new UnreadablePatch('no "diff --git" or "---"/"+++" header was found');
    return this.sections;
  }

  private begin(offset: number, line: string, plain: boolean): void {
    if (this.sections.length === MOST_FILES)
      throw new UnreadablePatch(`it changes more than ${MOST_FILES} files`, 'too-large');
    this.sections.push({ start: offset, header: [], hunks: [] });
    this.plain = plain;
    if (!plain) this.keep(line, 'git-header');
  }

  private keep(line: string, place: Place): void {
    const header = this.sections.at(-1)?.header ?? [];
    if (header.length === LONGEST_HEADER) throw new UnreadablePatch('a file header has too many lines');
    header.push(line);
    this.place = place;
  }

  /** Belongs to the current git header, or begins a file without one. */
  private minusName(line: string, offset: number): void {
    if (this.place === 'before-hunk') throw new UnreadablePatch('a file header names its file twice');
    if (this.place !== 'git-header') this.begin(offset, line, true);
    this.name(line, 'plus-name');
  }

  private name(line: string, next: Place): void {
    checkName(line, this.plain);
    this.keep(line, next);
  }

  private headerLine(line: string): void {
    if (NAME.test(line)) throw new UnreadablePatch('a file header names only one side');
    const strict = extendedHeader(line);
    if (strict === null) this.place = 'nothing';
    else this.keep(strict, strict.startsWith('Binary') ? 'nothing' : 'git-header');
  }

  private otherLine(line: string): void {
    if (this.place === 'before-hunk' && (NAME.test(line) || isExtendedHeader(line))) {
      throw new UnreadablePatch('a header line follows the names of its file');
    }
    if (this.place === 'after-hunk' && line.startsWith('\\')) this.lines.push(line);
    else this.place = 'nothing';
  }

  private hunkHeader(line: string): void {
    const counts = HUNK_HEADER.exec(line);
    if (counts === null) throw new UnreadablePatch(`"${line.slice(0, 80)}" is not a hunk header`);
    this.hunks += 1;
    if (this.hunks > MOST_HUNKS) throw new UnreadablePatch(`it has more than ${MOST_HUNKS} hunks`, 'too-large');
    if (this.place === 'nothing') throw new UnreadablePatch('a hunk has no file header');
    const [, oldStart, oldLines = '1', newStart, newLines = '1'] = counts;
    this.oldLeft = Number(oldLines);
    this.newLeft = Number(newLines);
    this.lines = [];
    // For an empty side, the header gives the number of the line before it.
    this.sections.at(-1)?.hunks.push({
      oldStart: Number(oldStart) + Number(this.oldLeft === 0),
      oldLines: this.oldLeft,
      newStart: Number(newStart) + Number(this.newLeft === 0),
      newLines: this.newLeft,
      lines: this.lines,
    });
    this.place = 'after-hunk';
  }

  private hunkLine(line: string): void {
    const whole = line === '' ? ' ' : line;
    const isNote = whole.startsWith('\\');
    const [inOld, inNew] = [!isNote && !whole.startsWith('+'), !isNote && !whole.startsWith('-')];
    if (inOld && inNew && !whole.startsWith(' ')) {
      throw new UnreadablePatch(`a hunk contains the line "${line.slice(0, 80)}" or is cut off before it`);
    }
    this.lines.push(whole);
    this.oldLeft -= Number(inOld);
    this.newLeft -= Number(inNew);
    if (this.oldLeft < 0 || this.newLeft < 0) throw new UnreadablePatch('a hunk has more lines than its header states');
  }
}

/** Thrown inside the reader; becomes a refusal with its message. */
export class UnreadablePatch extends Error {
  constructor(
    message: string,
    readonly reason: 'unparsable' | 'too-large' = 'unparsable',
  ) {
    super(message);
  }
}

const BINARY = /^(GIT binary patch$|Binary files |Files )/;
const KNOWN =
  /^((old|new|new file|deleted file) mode|(rename|copy) (from|to)|rename (old|new)|(dis)?similarity index|index) /;
const WITH_MODE = /^(?:(?:old|new|new file|deleted file) mode|index \S*) (.*)$/;
/** File, link or submodule, as git writes the mode; git also reads other spellings. */
const MODE = /^(100[0-7]{3}|120000|160000)$/;

/**
 * Rewrites an extended header line of a git diff for a parser that knows fewer of them; null for a line that is not
 * part of a header. Other spellings that git accepts are refused: this reader and git must agree.
 * @throws UnreadablePatch
 */
export function extendedHeader(given: string): string | null {
  const line = given.endsWith('\r') ? given.slice(0, -1) : given;
  if (BINARY.test(line)) return 'Binary files differ';
  if (!isExtendedHeader(line)) return null;
  // `rename old` is git's synonym for `rename from`; to git, JavaScript's other line terminators are part of a name.
  if (/^rename (old|new) |[\r\u2028\u2029]/.test(line)) throw unreadable(line);
  const mode = WITH_MODE.exec(line)?.[1];
  if (mode === undefined) return line;
  if (!MODE.test(mode)) throw unreadable(line);
  // For a link or submodule that stays one, this is the only line in which git writes the mode.
  return line.startsWith('index ') && !mode.startsWith('100') ? `old mode ${mode}` : line;
}

export function isExtendedHeader(line: string): boolean {
  return KNOWN.test(line);
}

/**
 * Checks a `---` or `+++` line in which git and other parsers could read different names: trailing blanks, or, without
 * a git header, a date after a blank.
 * @throws UnreadablePatch
 */
export function checkName(line: string, plain: boolean): void {
  const [name = ''] = line.slice(4).replace(/\r$/, '').split('\t');
  if (name !== name.trimEnd() || /[\r\u2028\u2029]/.test(name) || (plain && / \d+-\d+-\d+/.test(name))) {
    throw unreadable(line);
  }
}

function unreadable(line: string): UnreadablePatch {
  return new UnreadablePatch(`the header line "${line.slice(0, 80)}" cannot be read for certain`);
}
