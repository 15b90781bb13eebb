import { CappedBytes } from '../../core/hostile-text.js';
import { isScratch } from '../../core/patch/file-roles.js';
import type { LeftOut } from '../../core/run/rollout.js';
import type { Workspace } from '../tools/workspace.js';

export interface ExtractedPatch {
  /** A git diff against the base; empty when no relevant file has changed. */
  readonly patch: string;
  readonly leftOut: readonly LeftOut[];
}

/**
 * The agent's change: the difference between the recorded base and the work tree, including added files, whatever the agent did
 * with commits, branches and the index. Files that by rule are not part of a fix are left out and listed.
 * @throws PatchLostError, and what the session throws
 */
export async function extractPatch(workspace: Workspace, signal: AbortSignal): Promise<ExtractedPatch> {
  const git = (what: GitTask, stdin?: string): Promise<GitOutput> => gitOutput({ what, stdin }, workspace, signal);
  let output = await git('all');
  const unread = unreadPaths(output.unread);
  const added = readList(output.list).flatMap(({ path, mode, status }): LeftOut[] => {
    const reason = status === 'A' ? leftOutReason(path, mode) : null;
    return reason === null ? [] : [{ path, reason }];
  });
  if (added.length > 0) output = await git('without', added.map(({ path }) => `${path}\0`).join(''));
  let patch = decode(output.difference);
  if (patch === null) {
    output = await git('binary', asBinary(output));
    patch = decode(output.difference);
  }
  if (patch === null) throw new PatchLostError('its difference is no text');
  return { patch, leftOut: [...added, ...unread] };
}

/** Paths that git could not read: a repository without a commit, or a file the container's user may not read. */
function unreadPaths(list: string): LeftOut[] {
  const paths = new Set(list.split('\0').filter((path) => path !== ''));
  return [...paths].map((path) => ({ path, reason: path.endsWith('/') ? 'nested-repository' : 'unreadable' }));
}

/**
 * Attributes that treat as binary each file that is neither UTF-8 nor binary to git, since its bytes would be lost in a text
 * diff. The file sections of a diff are in the order of the list.
 */
function asBinary({ list, difference }: GitOutput): string {
  const sections = difference?.toString('latin1').split(/^(?=diff --git )/m) ?? [];
  const paths = readList(list).filter((_, index) => decode(Buffer.from(sections[index] ?? '', 'latin1')) === null);
  return paths.map(({ path }) => `${JSON.stringify(`/${path.replaceAll(/[[*?\\]/g, '\\$&')}`)} -diff\n`).join('');
}

interface Change {
  readonly mode: string;
  readonly status: string;
  readonly path: string;
}

/** `:oldmode newmode oldid newid status NUL path NUL` */
function readList(list: string): Change[] {
  const fields = list.split('\0');
  const changes: Change[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = '', , , status = ''] = (fields[at] ?? '').split(' ');
    changes.push({ mode, status: status.charAt(0), path: fields[at + 1] ?? '' });
  }
  return changes;
}

function decode(bytes: Uint8Array | null): string | null {
  if (bytes === null) throw new PatchLostError('it is larger than any fix');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

const CACHE =
  /(^|\/)(__pycache__|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.hypothesis|\.eggs|[^/]+\.egg-info|\.coverage)(\/|$)|\.(pyc|pyo|orig|rej|swp)$|(^|\/)\.DS_Store$/;
/** Why a file that the agent added is not part of its patch, or null. */
export function leftOutReason(path: string, mode: string): LeftOut['reason'] | null {
  if (mode === GITLINK) return 'nested-repository';
  if (CACHE.test(path)) return 'cache';
  return isScratch(path) ? 'scratch' : null;
}

const GITLINK = '160000';

/** The patch cannot be extracted: the agent destroyed the repository, or the difference is larger than any fix. */
export class PatchLostError extends Error {}

export type GitTask = 'all' | 'without' | 'binary';

/** Seconds: a patch that is not read in time is lost for good, and on a busy machine git takes minutes. */
const DEADLINE_S = 600;
/** Bytes; no fix is larger. */
const LARGEST = 16 * 1024 * 1024;

/**
 * Runs git without any influence by the agent: only the objects of its repository are used, through a separate repository next
 * to them, so that no configuration, filter, hook, attribute outside the tree, index, ref or lock made by the agent can forge
 * or lose the patch. `all` puts the work tree into that repository's index; `without` removes the files listed on stdin from
 * it; `binary` overrides attributes with those on stdin. Each prints the files that cannot be read, a NUL, the list of what
 * differs from the base, a NUL, and the difference.
 */
const SCRIPT = String.raw`
what=$1 base=$2 top=$3
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1 LC_ALL=C
unset GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXTERNAL_DIFF GIT_CONFIG_COUNT \
  GIT_CONFIG_PARAMETERS GIT_NAMESPACE GIT_COMMON_DIR GIT_ATTR_SOURCE
until [ -d "$top/.git" ]; do
  [ -n "$top" ] || { echo "$3 is not a git repository any more" >&2; exit 10; }
  top=${'${top%/*}'}
done
export GIT_DIR="$top/.git/bestk-patch" GIT_WORK_TREE="$top"
g() {
  git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.excludesFile=/dev/null -c core.attributesFile=/dev/null \
    -c core.fileMode=true -c core.safecrlf=false -c color.ui=never -c advice.addEmbeddedRepo=false "$@"
}
begin() {
  chmod u+rwx "$top" "$top/.git" && rm -rf "$GIT_DIR" || return
  case ${'${#base}'} in 64) format=sha256 ;; *) format=sha1 ;; esac
  g init -q --template= --object-format=$format >&2 || return
  mkdir -p "$GIT_DIR/info" "$GIT_DIR/objects/info" && echo "$top/.git/objects" >"$GIT_DIR/objects/info/alternates"
}
readable() {
  find . -name .git -prune -o -type d ! -perm -500 -exec chmod u+rx {} \; -o -type f ! -perm -400 -exec chmod u+r {} \; >&2
}
add() {
  said=$(g add -A --ignore-errors -- . 2>&1 >/dev/null) && return
  printf '%s' "$said" >&2
  # An encoding that a file of the agent's does not have ends git; the bytes themselves will do.
  case $said in *fatal:*)
    echo '* -working-tree-encoding' >"$GIT_DIR/info/attributes"
    said=$(g add -A --ignore-errors -- . 2>&1 >/dev/null) && return ;;
  esac
  case $said in *fatal:*|*'No space left'*|*'quota exceeded'*|*'unable to write'*|*'database'*) return 1 ;; esac
  g ls-files -z --others --modified --exclude-standard
}
cd "$top" || exit 10
case $what in
  all) begin && g read-tree "$base" && { readable; add; } ;;
  without) g update-index -z --force-remove --stdin ;;
  binary) cat >"$GIT_DIR/info/attributes" ;;
esac || exit
printf '\0' && g diff-index --cached --raw -z --no-renames "$base" && printf '\0' && g diff-index --cached -p --binary \
  --full-index --no-renames --no-ext-diff --no-textconv --unified=3 --src-prefix=a/ --dst-prefix=b/ "$base"`;

export interface GitOutput {
  /** Paths whose content git could not read, each followed by a NUL. */
  readonly unread: string;
  /** The list, as printed by `git diff-index --raw -z`. */
  readonly list: string;
  /** Null when it is larger than any fix. */
  readonly difference: Buffer | null;
}

/** @throws PatchLostError, and what the session throws */
export async function gitOutput(
  { what, stdin }: { what: GitTask; stdin: string | undefined },
  workspace: Workspace,
  signal: AbortSignal,
): Promise<GitOutput> {
  const printed = new CappedBytes(LARGEST);
  const onStdout = (piece: Uint8Array): void => {
    printed.push(piece);
  };
  const argv = ['/bin/sh', '-c', SCRIPT, 'sh', what, workspace.base, workspace.workdir];
  const input = stdin === undefined ? {} : { stdin };
  const outcome = await workspace.run(argv, { onStdout, ...input, deadlineS: DEADLINE_S }, signal);
  if (outcome.kind !== 'exited') throw new PatchLostError(`reading it ended ${outcome.kind}`);
  if (outcome.exitCode !== 0) throw new PatchLostError(outcome.stderr.trim().slice(-300));
  const bytes = printed.bytes();
  const unread = partEnd(bytes, 0);
  const list = partEnd(bytes, unread + 1);
  return {
    unread: bytes.toString('utf8', 0, unread),
    list: bytes.toString('utf8', unread + 1, list),
    difference: printed.truncated ? null : bytes.subarray(list + 1),
  };
}

/** Position of the NUL that ends a part in which each entry is followed by a NUL. */
function partEnd(bytes: Buffer, start: number): number {
  return bytes[start] === 0 ? start : bytes.indexOf('\0\0', start) + 1;
}
