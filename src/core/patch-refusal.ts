import type { StructuredPatch } from 'diff';

export type RefusalReason = 'too-large' | 'unparsable' | 'unsafe-path' | 'git-internals' | 'symlink' | 'submodule';

export interface Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;
}

const LONGEST_PATH = 4_096;
const SYMLINK = '120000';
const SUBMODULE = '160000';

/** Why a file's changes must not be applied anywhere, or null. */
export function refusalOf(paths: readonly string[], file: StructuredPatch): Refusal | null {
  for (const path of paths) {
    const refusal = pathRefusal(path);
    if (refusal !== null) return refusal;
  }
  const modes = [file.oldMode, file.newMode];
  const name = paths.at(-1) ?? '';
  if (modes.includes(SUBMODULE)) return { reason: 'submodule', detail: `"${name}" is a submodule` };
  return modes.includes(SYMLINK) ? symlinkRefusal(name, file) : null;
}

function pathRefusal(path: string): Refusal | null {
  const parts = path.split('/');
  const shown = path.slice(0, 200);
  if (path === '' || path.length > LONGEST_PATH || /[\u0000-\u001f\u007f\ufffd\\]/.test(path)) {
    return { reason: 'unsafe-path', detail: `"${shown}" is no plain path` };
  }
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return { reason: 'unsafe-path', detail: `"${shown}" is absolute` };
  if (parts.some((part) => part === '..' || part === '.' || part === '')) {
    return { reason: 'unsafe-path', detail: `"${shown}" leaves the repository or is not normal` };
  }
  // Names that some file systems take for `.git`.
  if (parts.some((part) => /^(\.git|git~1)[. ]*$/i.test(part))) {
    return { reason: 'git-internals', detail: `"${shown}" belongs to git itself` };
  }
  return null;
}

/**
 * A link is judged by where it newly points; through one that stays or goes nothing can be written. A link that the
 * repository already has and that a patch changes without naming its mode looks like a file: only git can tell.
 */
function symlinkRefusal(path: string, file: StructuredPatch): Refusal | null {
  if (file.isBinary === true) return { reason: 'symlink', detail: `"${path}" does not say in text where it points` };
  const added = file.hunks.flatMap(({ lines }) => lines.filter((line) => line.startsWith('+')));
  const target = added.map((line) => line.slice(1)).join('\n');
  if (added.length === 0) return null;
  if (target.startsWith('/')) return { reason: 'symlink', detail: `"${path}" points to "${target.slice(0, 200)}"` };
  let depth = path.split('/').length - 1;
  for (const part of target.split('/')) {
    if (part === '..') depth -= 1;
    else if (part !== '.' && part !== '') depth += 1;
    if (depth < 0) return { reason: 'symlink', detail: `"${path}" points out of the repository` };
  }
  return null;
}
