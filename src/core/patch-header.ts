/** Thrown inside the reader; becomes a refusal with its message. */
export class UnreadablePatch extends Error {}

const BINARY = /^(GIT binary patch$|Binary files |Files )/;
const KNOWN =
  /^((old|new|new file|deleted file) mode|(rename|copy) (from|to)|rename (old|new)|(dis)?similarity index|index) /;
const WITH_MODE = /^(?:(?:old|new|new file|deleted file) mode|index \S*) (.*)$/;
/** File, link, submodule, spelled as git writes them; git itself also reads other spellings of the same. */
const MODE = /^(100[0-7]{3}|120000|160000)$/;

/**
 * An extended header line of a git diff as a parser that knows fewer of them must see it, or null for a line that no
 * header holds. Other spellings that git would understand are refused: what is read here and what git does must agree.
 * @throws UnreadablePatch
 */
export function extendedHeader(given: string): string | null {
  const line = given.endsWith('\r') ? given.slice(0, -1) : given;
  if (BINARY.test(line)) return 'Binary files differ';
  if (!isExtendedHeader(line)) return null;
  // `rename old` is git's other word for `rename from`; the line ends that JavaScript knows are part of a name to git.
  if (/^rename (old|new) |[\r\u2028\u2029]/.test(line)) throw unreadable(line);
  const mode = WITH_MODE.exec(line)?.[1];
  if (mode === undefined) return line;
  if (!MODE.test(mode)) throw unreadable(line);
  // Of a link or submodule that stays one, git writes the mode nowhere else.
  return line.startsWith('index ') && !mode.startsWith('100') ? `old mode ${mode}` : line;
}

export function isExtendedHeader(line: string): boolean {
  return KNOWN.test(line);
}

/**
 * Checks a `---` or `+++` line of which git and other parsers could read different names: blanks at the end, and, where
 * no git header says otherwise, a date behind a blank.
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
