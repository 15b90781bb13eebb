import { type LoggedStatus, TestLog, TooMuchError } from './test-log.js';

const ESCAPE_CODE = /\u001b(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])/g;

/** A text with more lines is not a real report. */
const MOST_LINES = 5_000_000;
/** Longer lines report no test; some expressions take quadratic time in the length of a line. */
const LONGEST_LINE = 16_384;

/** The lines of a text, without those that are too long for a test. @throws TooMuchError */
export function* linesOf(text: string, end = /\n/g): Generator<string> {
  let lines = 0;
  for (let start = 0; start < text.length;) {
    end.lastIndex = start;
    const found = end.exec(text);
    const at = found?.index ?? text.length;
    lines += 1;
    if (lines > MOST_LINES) throw new TooMuchError();
    if (at - start <= LONGEST_LINE) yield text.slice(start, at);
    start = at + 1;
  }
}

/**
 * As {@link linesOf}, without colour codes and trailing white space. A carriage return ends a line: what follows overwrites
 * a line of progress.
 * @throws TooMuchError
 */
export function* printedLines(log: string): Generator<string> {
  for (const line of linesOf(log, /[\r\n]/g))
    yield (line.includes('\u001b') ? line.replace(ESCAPE_CODE, '') : line).trimEnd();
}

/** Lines without colour codes and trailing white space. Longer logs than {@link printedLines} takes. */
export function logLines(log: string): readonly string[] {
  return log
    .replace(ESCAPE_CODE, '')
    .split(/\r\n|\r|\n/)
    .map((line) => line.trimEnd());
}

/** A test that a line reports, with alternative spellings of its name. */
export type Found = readonly [name: string, status: LoggedStatus, others?: readonly string[]];

/** Reads one line; null when it reports no test. */
export type ReadLine = (line: string) => Found | null;

/** Notes the first result that a reader finds in each line. @throws TooMuchError */
export function readLines(log: string, ...readers: readonly ReadLine[]): TestLog {
  const tests = new TestLog();
  for (const line of printedLines(log)) noteFirst(tests, line, readers);
  return tests;
}

export function noteFirst(tests: TestLog, line: string, readers: readonly ReadLine[]): void {
  for (const read of readers) {
    const found = read(line);
    if (found === null) continue;
    tests.note(...found);
    return;
  }
}

/** What runners call results, in lower case. */
const WORDS: Readonly<Record<string, LoggedStatus>> = {
  ...{ ok: 'passed', pass: 'passed', passed: 'passed', success: 'passed', '.': 'passed', '+': 'passed' },
  xfail: 'passed',
  ...{ fail: 'failed', failed: 'failed', failure: 'failed', f: 'failed', x: 'failed', 'not ok': 'failed' },
  ...{ xpass: 'failed', timeout: 'failed', ko: 'failed' },
  ...{ error: 'error', errors: 'error', err: 'error', e: 'error', exception: 'error', crash: 'error' },
  ...{ fatal: 'error', panic: 'error', aborted: 'error' },
  ...{ skip: 'skipped', skipped: 'skipped', ignore: 'skipped', ignored: 'skipped', pending: 'skipped' },
  ...{ todo: 'skipped', disabled: 'skipped', canceled: 'skipped', cancelled: 'skipped', 'not run': 'skipped' },
  ...{ s: 'skipped', o: 'skipped' },
};

export type StatusWords = Readonly<Record<string, LoggedStatus>>;

export function statusOfWord(word: string, words: StatusWords = WORDS): LoggedStatus | undefined {
  const key = word.toLowerCase();
  return Object.hasOwn(words, key) ? words[key] : undefined;
}

/** Reads lines that match an expression with the groups `name` and `word`, the runner's word for the result. */
export function byWord(pattern: RegExp, words: StatusWords = WORDS): ReadLine {
  return (line) => {
    const { name = '', word = '' } = pattern.exec(line)?.groups ?? {};
    const status = statusOfWord(word, words);
    return status === undefined || name.trim() === '' ? null : [name.trim(), status];
  };
}

/** The first group of an expression that matched something. */
export function firstGroup(pattern: RegExp, text: string): string | undefined {
  const groups: readonly (string | undefined)[] = pattern.exec(text)?.slice(1) ?? [];
  return groups.find((group) => group !== undefined);
}

const MARKS: Readonly<Record<string, LoggedStatus>> = {
  ...{ '✓': 'passed', '✔': 'passed', '√': 'passed', '✅': 'passed' },
  ...{ '✕': 'failed', '✗': 'failed', '✖': 'failed', '✘': 'failed', '×': 'failed', '⨯': 'failed', '❌': 'failed' },
  ...{
    '○': 'skipped',
    '↓': 'skipped',
    '↩': 'skipped',
    '◌': 'skipped',
    '◦': 'skipped',
    '⚪': 'skipped',
    '∅': 'skipped',
  },
};
const MARKED = new RegExp(`^\\s*([${Object.keys(MARKS).join('')}])\\s+(\\S.*)$`, 'u');

/** `✓ name`; null for any other line. */
export function markedTest(line: string): readonly [name: string, status: LoggedStatus] | null {
  const [, mark = '', name = ''] = MARKED.exec(line) ?? [];
  const status = MARKS[mark];
  return status === undefined ? null : [name, status];
}

const BYTE_ORDER_MARKS: readonly (readonly [encoding: string, bytes: readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];
const DECLARED = /^<\?xml\b[^>]{0,100}\bencoding=["']([\w-]{2,40})["']/;
const LOOKED_AT = 1_024;

/** The text of a log in the encoding that its first bytes tell, else UTF-8; a part in UTF-16 may follow other lines. */
export function decodeLog(bytes: Uint8Array): string {
  const encoding = encodingOf(bytes.subarray(0, LOOKED_AT));
  if (encoding !== null) return new TextDecoder(encoding).decode(bytes);
  const wide = indexOfWidePart(bytes);
  if (wide === -1) return new TextDecoder(encodingByZeros(bytes.subarray(0, LOOKED_AT))).decode(bytes);
  return `${new TextDecoder().decode(bytes.subarray(0, wide))}${decodeLog(bytes.subarray(wide))}`;
}

function encodingOf(bytes: Uint8Array): string | null {
  const marked = BYTE_ORDER_MARKS.find(([, mark]) => mark.every((byte, at) => bytes[at] === byte));
  if (marked !== undefined) return marked[0];
  const declared = DECLARED.exec(Buffer.from(bytes).toString('latin1'))?.[1];
  return declared !== undefined && canDecode(declared) ? declared : null;
}

/** Every second byte of text in UTF-16 is zero where its letters are those of ASCII. */
function encodingByZeros(bytes: Uint8Array): string {
  const zeros = (parity: number): number => bytes.filter((byte, at) => byte === 0 && at % 2 === parity).length;
  const half = bytes.length / 4;
  if (zeros(1) > half && zeros(0) === 0) return 'utf-16le';
  return zeros(0) > half && zeros(1) === 0 ? 'utf-16be' : 'utf-8';
}

function canDecode(encoding: string): boolean {
  // What declares itself as UTF-16 in single bytes is not.
  if (/^utf-?16/i.test(encoding)) return false;
  try {
    return new TextDecoder(encoding).encoding !== '';
  } catch {
    return false;
  }
}

/** A byte order mark of UTF-16 at the beginning of a later line, as where a script prints a file; -1 if there is none. */
function indexOfWidePart(bytes: Uint8Array): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found = [Buffer.from([0x0a, 0xff, 0xfe]), Buffer.from([0x0a, 0xfe, 0xff])].map((mark) => text.indexOf(mark));
  const [first] = found.filter((at) => at !== -1).sort((a, b) => a - b);
  return first === undefined ? -1 : first + 1;
}
