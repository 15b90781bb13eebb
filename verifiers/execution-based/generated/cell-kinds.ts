import type { CellKind, CellOutcome } from '../../../src/core/run/generated-test.js';

/* What the end of a test means: whether it concerns the code under test, or the test and the machine. By text only. */

/** A kind, and the reason for a refusal, phrased to follow "it"; null if the end is a valid answer. */
export interface Told {
  readonly kind: CellKind;
  readonly why: string | null;
}

/** A run on one tree. */
interface Ended {
  readonly outcome: Exclude<CellOutcome, 'forged'>;
  readonly log_tail: string;
  /** Type of the error that ended it, if known. */
  readonly raises?: string;
}

/** Errors that show that the script, not the project, is broken, and their kinds. */
const OWN_ERRORS: ReadonlyMap<string, CellKind> = new Map([
  ['ModuleNotFoundError', 'missing-name'],
  ['ImportError', 'missing-name'],
  ['NameError', 'missing-name'],
  ['UnboundLocalError', 'missing-name'],
  ['ReferenceError', 'missing-name'],
  ['SyntaxError', 'set-up-error'],
  ['IndentationError', 'set-up-error'],
  ['ImproperlyConfigured', 'set-up-error'],
  ['AppRegistryNotReady', 'set-up-error'],
  ['FileNotFoundError', 'set-up-error'],
]);

const LIMITS: Readonly<Record<'timed-out' | 'out-of-memory' | 'out-of-disk' | 'observed', Told>> = {
  'timed-out': { kind: 'time-out', why: 'exceeds its time limit on base' },
  'out-of-memory': { kind: 'out-of-memory', why: 'exceeds the memory limit on base' },
  // Unused: tests that only observe do not get here; see observations.ts.
  observed: { kind: 'wrong-answer', why: 'only observes' },
  'out-of-disk': { kind: 'out-of-disk', why: 'exceeds the disk limit on base' },
};

/** How compilers and interpreters report a missing name. */
const MISSING: readonly RegExp[] = [
  /cannot import name '(\w+)'/,
  /No module named '([\w.]+)'/,
  /(?:name|variable) '(\w+)' is not defined/,
  /has no attribute '(\w+)'/,
  /unexpected keyword argument '(\w+)'/,
  // JavaScript
  /does not provide an export named '(\w+)'/,
  /(?<![\w.])([\w.]{1,100}) is not (?:a function|a constructor|defined)\b/,
  // Go, Java, Rust, C, C++, Ruby
  /\bundefined: ([\w.]+)/,
  /has no field or method (\w+)/,
  /symbol: +(?:method|class|variable) (\w+)/,
  /(?:cannot find|no) [\w, ]{1,60} (?:named )?`(\w+)`/,
  /unresolved import `([\w:]+)`/,
  /implicit declaration of function .(\w+)/,
  /undefined reference to .(\w+)/,
  /['‘](\w{1,100})['’] (?:was not declared|undeclared)/,
  /undefined (?:local variable or )?method .(\w+)/,
  /uninitialized constant ([\w:]+)/,
];

/**
 * What the end of a test on base means; an end without an answer is a refusal. If base lacks a name that the issue asks
 * for, that is a wrong answer by base, however the test ends.
 */
export function kindOnBase(run: Ended, issue: string): Told {
  if (run.outcome === 'solved') return PASSES;
  if (run.outcome === 'not-solved') return wrongReason(run.log_tail, issue) ?? ANSWERED;
  return run.outcome === 'crashed' ? crashOnBase(run, issue) : LIMITS[run.outcome];
}

const PASSES: Told = {
  kind: 'passes-on-base',
  why: 'says "solved" on base, so it does not reproduce the issue',
};

const ANSWERED: Told = { kind: 'wrong-answer', why: null };

function crashOnBase({ log_tail, raises }: Ended, issue: string): Told {
  const missing = missingIn(log_tail);
  if (missing !== null && isNamed(missing, issue)) return ANSWERED;
  const kind = missing === null ? (OWN_ERRORS.get(raises ?? '') ?? 'set-up-error') : 'missing-name';
  const what =
    missing === null ? (raises ?? null) : `"${missing}", which is not there and which the issue does not name`;
  const by = what === null ? '' : ` (${what})`;
  return { kind, why: `breaks on base: its exit code is neither 0 nor 2, or its command reports no test${by}` };
}

/** Number of last lines searched for the reason of an exit. */
const LAST = 3;

/**
 * The error that a script mistook for the issue's, or null: it reports "not solved" on base, but its last lines,
 * without warnings, name an error of a broken script, and the issue mentions neither that error nor the missing name.
 */
function wrongReason(log: string, issue: string): Told | null {
  const last = withoutWarnings(log).slice(-LAST).join('\n');
  const named = [...OWN_ERRORS].find(([error]) => new RegExp(`\\b${error}\\b`).test(last) && !issue.includes(error));
  if (named === undefined) return null;
  const [error, kind] = named;
  const missing = missingIn(last);
  if (missing !== null && isNamed(missing, issue)) return null;
  return { kind, why: `says "not solved" on base because of its own ${error}` };
}

/** Non-blank lines without warnings: lines that say so, and the indented source line below each. */
function withoutWarnings(log: string): readonly string[] {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  const isWarning = (line = ''): boolean => /\bwarn|Warning\b/i.test(line);
  return lines.filter((line, index) => !isWarning(line) && !(/^\s/.test(line) && isWarning(lines[index - 1])));
}

/** The name that the last such message reports as missing. */
function missingIn(log: string): string | null {
  const lines = log.split('\n').reverse();
  for (const line of lines.slice(0, MOST_LINES)) {
    const name = MISSING.flatMap((pattern) => pattern.exec(line.slice(0, LONGEST_LINE))?.[1] ?? [])[0];
    if (name !== undefined) return name;
  }
  return null;
}

const MOST_LINES = 60;
const LONGEST_LINE = 500;

/** Whether the issue contains the dotted name, or its last part written like code; words in prose do not count. */
function isNamed(name: string, issue: string): boolean {
  const [last = '', ...holders] = name.split(/[.:]+/).reverse();
  if (last === '') return false;
  const isSaid = (pattern: string): boolean => new RegExp(pattern, 'm').test(issue);
  const word = `(?<!\\w)${last}(?!\\w)`;
  if (/\w_|_\w|\d|[a-z][A-Z]/.test(last)) return isSaid(word);
  if (holders.length > 0 && isSaid(`(?<!\\w)${holders[0]}[.:]+${last}(?!\\w)`)) return true;
  return (
    isSaid(`[.:\`'"]${last}(?!\\w)`) ||
    isSaid(`${word}[(=\`'"]`) ||
    isSaid(`\\b(?:import|export|def|class|function) .{0,200}${word}`)
  );
}

/**
 * What the end of an admitted test on a patch means. The test worked on base, so a crash counts against the patch,
 * unless the script's own names were missing, which no patch can change.
 */
export function kindOnPatch(run: Ended, issue: string): CellKind {
  if (run.outcome === 'solved') return 'resolved';
  if (run.outcome === 'not-solved') return 'wrong-answer';
  return run.outcome === 'crashed' ? (ownErrorOf(run, issue) ?? 'wrong-answer') : LIMITS[run.outcome].kind;
}

/**
 * Whether a patch is responsible for this end of a solvable test. It is not if it removes the missing name, since it
 * may rename something internal.
 */
export function isAnsweredFor(run: Ended, issue: string, patch: string): boolean {
  const kind = kindOnPatch(run, issue);
  const name = kind === 'missing-name' ? missingIn(run.log_tail)?.split(/[.:]+/).at(-1) : undefined;
  if (name === undefined) return kind !== 'resolved';
  const word = new RegExp(`^-.*(?<!\\w)${name}(?!\\w)`, 'm');
  return !word.test(patch);
}

/** Kind of the error that the driver reports, if a frame of the script itself raised it. */
function ownErrorOf({ raises, log_tail }: Ended, issue: string): CellKind | null {
  const kind = OWN_ERRORS.get(raises ?? '');
  if (kind === undefined || raises === 'FileNotFoundError') return null;
  const [, file = ''] = [...log_tail.matchAll(/^ {2}File "([^"\n]{1,400})", line \d+/gm)].at(-1) ?? [];
  const missing = missingIn(log_tail);
  const isOwn = SCRIPT.test(file) && (missing === null || !isNamed(missing, issue));
  return isOwn ? kind : null;
}

/** Path of a script as the driver prints it. */
const SCRIPT = /^\/var\/tmp\/\w{16}\/\d+\.py$/;

/** Type of the error that ended a script: for Python from the driver's pipe, for JavaScript from the log. */
export function raisedBy(said: string, log: string): string | null {
  const heard = /^\{"raises": ?"([\w ]{1,200})"\}$/m.exec(said)?.[1];
  return heard ?? /^(?:Uncaught )?(\w{1,100}Error)(?: \[\w{1,100}\])?(?::|$)/m.exec(log)?.[1] ?? null;
}
