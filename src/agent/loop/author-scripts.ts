import type { ExecOutcome } from '../../ports/sandbox.js';
import { told, type ToolOutcome } from '../tools/tool-outcome.js';
import type { Workspace } from '../tools/workspace.js';

/** Folder in which a test author must put its scripts. */
export const FOLDER = 'bestk_tests/';
/** Exit code of a script if the issue is not resolved, as on base. */
const NOT_RESOLVED = 2;
/** Exit code of `timeout` on expiry. */
const LATE = 124;
const SECONDS = 20;

/**
 * Runs each script as later: by itself, from another folder. Prints `EXIT_CODE NAME` for each, `deeper NAME` for one in a
 * subfolder; names stay data.
 */
const TRY = String.raw`
limit=
if command -v timeout >/dev/null; then limit="timeout $1"; fi
alone=$(mktemp -d) || exit 1
for script in "$2"*.py; do
  [ -f "$script" ] || continue
  cp -- "$script" "$alone/script.py"
  PYTHONPATH="$PWD" PYTHONDONTWRITEBYTECODE=1 $limit python3 "$alone/script.py" </dev/null >/dev/null 2>&1
  printf '%s %s\n' "$?" "$script"
done
for script in "$2"*/*.py "$2"*/*/*.py; do
  [ ! -f "$script" ] || printf 'deeper %s\n' "$script"
done
rm -rf "$alone"`;

/**
 * Problems that keep an author's scripts from being valid tests, for it to fix; null if none is found.
 * @throws what the session throws
 */
export async function scriptTrouble(workspace: Workspace, signal: AbortSignal): Promise<ToolOutcome | null> {
  const argv = ['/bin/sh', '-c', TRY, 'author', String(SECONDS), FOLDER];
  const outcome = await workspace.exec(argv, signal);
  const troubles = troublesIn(outcome);
  if (troubles.length === 0) return null;
  const text =
    `Not submitted yet. Each script was run once more on the repository as it is now:\n${troubles.join('\n')}\n` +
    'Fix or delete them, and take back any change of the source. The next finish submits the scripts as they are.';
  const lost = outcome.kind !== 'exited' && !(outcome.kind === 'timed-out' && outcome.survived);
  return { ...told(text), refused: true, ...(lost ? { lost: true } : {}) };
}

function troublesIn(outcome: ExecOutcome): readonly string[] {
  if (outcome.kind !== 'exited') return ['- together they did not end, or took more memory or disk than there is'];
  const ended = [...outcome.stdout.matchAll(/^(\d+) (.+)$/gm)].map(
    ([, code, name = '']) => [Number(code), name] as const,
  );
  const deeper = [...outcome.stdout.matchAll(/^deeper (.+)$/gm)].map(
    ([, name = '']) => `- ${name} is in a folder of its own, where no script is read: move it into ${FOLDER} itself`,
  );
  if (deeper.length > 0) return [...troublesOf(ended), ...deeper];
  if (ended.length === 0) return [`- there is no .py script in ${FOLDER} itself; ${FOLDER}test_1.py would be one`];
  return troublesOf(ended);
}

function troublesOf(ended: readonly (readonly [code: number, name: string])[]): readonly string[] {
  return ended.flatMap(([code, name]) => (code === NOT_RESOLVED ? [] : [`- ${name} ${troubleOf(code)}`]));
}

function troubleOf(code: number): string {
  if (code === 0) return 'exited with 0, as if the issue were resolved';
  if (code === LATE) return `did not end within ${SECONDS} s`;
  return `ended with ${code}, neither 0 nor ${NOT_RESOLVED}: it is broken`;
}
