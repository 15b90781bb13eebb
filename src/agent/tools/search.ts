import { clipOutput, counted, told, type ToolOutcome } from './tool-outcome.js';
import type { Workspace } from './workspace.js';

const MANY_FILES = 100;
/** Longer arguments would keep the command from starting. */
const LONGEST = 4_000;

/**
 * Needs only `git grep`. In a directory it counts matches per Python file (per file of any kind if no Python file matches),
 * without hidden files; in a file it prints the matching lines. Exit 0 found, 1 nothing found, 3 no such path.
 */
const SCRIPT = String.raw`
term=$1 path=$2
[ -e "$path" ] || exit 3
g() { git -c grep.fallbackToNoIndex=true -c core.quotePath=false grep --no-color -I -F "$@"; }
if [ -d "$path" ]; then
  cd "$path" || exit 3
  set -- ':(exclude,glob)**/.*/**' ':(exclude,glob)**/.*'
  g --no-index -c -e "$term" -- '*.py' "$@" || g --no-index -c -e "$term" -- . "$@"
else
  g --no-index -h -n -e "$term" -- "$path"
fi`;

/** @throws what the session throws */
export async function search(
  term: string,
  path: string,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  if (!isFit(term) || !isFit(path))
    return told(`Search for a single line of text of at most ${LONGEST} characters, without NUL bytes.`);
  const where = workspace.resolve(path);
  const outcome = await workspace.exec(['/bin/sh', '-c', SCRIPT, 'sh', term, where], signal);
  if (outcome.kind !== 'exited') {
    const lost = outcome.kind === 'timed-out' && outcome.survived ? {} : { lost: true as const };
    return { ...told('The search ran out of time, memory or disk space. Search in a smaller directory.'), ...lost };
  }
  if (outcome.exitCode === 3) return told(`"${path}" does not exist.`);
  const trouble = outcome.exitCode > 1 ? ` (${outcome.stderr.slice(0, 300)})` : '';
  return told(describeMatches(term, where, outcome.stdout) ?? `No matches for "${term}" in ${where}${trouble}.`);
}

/** What git printed; null for nothing. */
export function describeMatches(term: string, where: string, stdout: string): string | null {
  const lines = stdout.split('\n').filter((line) => line !== '');
  if (lines.length === 0) return null;
  if (isCounts(lines)) return describeFiles(term, where, lines);
  return `Matches for "${term}" in ${where} (${counted(lines.length, 'line')}):\n${clipOutput(lines.join('\n'))}`;
}

const COUNT = /^(.+):(\d+)$/s;

/** Matching lines of a file begin with their line number, counts with a file name. */
function isCounts(lines: readonly string[]): boolean {
  return lines.every((line) => COUNT.test(line) && !/^\d+:/.test(line));
}

function describeFiles(term: string, where: string, lines: readonly string[]): string {
  if (lines.length > MANY_FILES) {
    return `More than ${MANY_FILES} files in ${where} contain "${term}" (${lines.length}). Search for something rarer, or in a smaller directory.`;
  }
  const files = lines.map((line) => {
    const [, file = line, count = '0'] = COUNT.exec(line) ?? [];
    return `${file} (${counted(Number(count), 'match', 'matches')})`;
  });
  const contain = lines.length === 1 ? 'contains' : 'contain';
  return `${counted(lines.length, 'file')} in ${where} ${contain} "${term}":\n${files.join('\n')}`;
}

function isFit(argument: string): boolean {
  return !/[\0\n]/.test(argument) && argument.length <= LONGEST;
}
