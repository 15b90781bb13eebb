import type { Workspace } from './workspace.js';

export type PathKind = 'file' | 'directory' | 'other' | 'missing';

/** Prints what a path is, and where it leads when links are followed. */
const SCRIPT = String.raw`
p=$1
if [ -d "$p" ]; then kind=directory
elif [ -f "$p" ]; then kind=file
elif [ -e "$p" ] || [ -L "$p" ]; then kind=other
else kind=missing; fi
printf '%s\n' "$kind"
[ "$kind" = file ] && { readlink -f -- "$p" 2>/dev/null || printf '%s\n' "$p"; }
exit 0`;

/** @throws what the session throws */
export async function kindOf(
  path: string,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<{ kind: PathKind; real: string }> {
  const outcome = await workspace.run(['/bin/sh', '-c', SCRIPT, 'sh', path], {}, signal);
  const [kind = 'missing', ...rest] = outcome.stdout.split('\n');
  const real = rest.join('\n').replace(/\n$/, '');
  return { kind: isKind(kind) ? kind : 'other', real: real === '' ? path : real };
}

function isKind(word: string): word is PathKind {
  return ['file', 'directory', 'other', 'missing'].includes(word);
}
