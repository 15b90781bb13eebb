/** Thrown inside the reader; becomes a refusal with its message. */
export class UnreadablePatch extends Error {}

const MODE = /^(old mode|new mode|new file mode|deleted file mode) (.*)$/;
const INDEX = /^index \S*(?: (.*))?$/;
const KNOWN =
  /^((old|new|new file|deleted file) mode|(rename|copy) (from|to)|rename (old|new)|(dis)?similarity index|index) /;
/** File, link, submodule, spelled as git writes them; git itself also reads other spellings of the same. */
const PLAIN_MODE = /^(100[0-7]{3}|120000|160000)$/;

/**
 * An extended header line of a git diff as a parser that knows fewer of them must see it, or null for a line that no
 * header holds. Other spellings that git would understand are refused: what is read here and what git does must agree.
 * @throws UnreadablePatch
 */
export function extendedHeader(given: string): string | null {
  const line = given.endsWith('\r') ? given.slice(0, -1) : given;
  if (line === 'GIT binary patch' || /^(Binary files|Files) /.test(line)) return 'Binary files differ';
  if (!isExtendedHeader(line)) return null;
  // Some line ends are none to git.
  if (/^rename (old|new) |[\r\u2028\u2029]/.test(line)) throw unreadable(line);
  return withItsMode(line);
}

function withItsMode(line: string): string {
  const mode = MODE.exec(line)?.[2];
  if (mode !== undefined) {
    checkMode(mode, line);
    return line;
  }
  const ofIndex = INDEX.exec(line)?.[1];
  if (ofIndex === undefined) return line;
  checkMode(ofIndex, line);
  // Git writes the mode of a link or submodule that changes nowhere but here.
  return ofIndex.startsWith('100') ? line : `old mode ${ofIndex}`;
}

export function isExtendedHeader(line: string): boolean {
  return KNOWN.test(line);
}

function checkMode(mode: string, line: string): void {
  if (!PLAIN_MODE.test(mode)) throw unreadable(line);
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
