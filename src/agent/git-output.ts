import type { Workspace } from './workspace.js';

/** The patch cannot be told: the agent destroyed the repository, or the difference is larger than any fix. */
export class PatchLostError extends Error {}

export type GitTask = 'all' | 'without' | 'binary';

/** No fix is larger. */
const LARGEST = 16 * 1024 * 1024;

/**
 * Git as far from the agent's settings as can be: its configuration, hooks, attributes and index take no part. `all` puts
 * the work tree into an index of our own; `without` takes the files named on stdin out of it; `binary` puts attributes
 * from stdin over it. Each prints the list of what differs from the base, a NUL, and the difference.
 */
const SCRIPT = String.raw`
what=$1 base=$2 workdir=$3
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1 LC_ALL=C
unset GIT_DIR GIT_WORK_TREE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_EXTERNAL_DIFF
cd "$workdir" && top=$(git -c safe.directory='*' rev-parse --show-toplevel) && cd "$top" || exit 10
export GIT_INDEX_FILE="$top/.git/bestk-index"
g() {
  git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.untrackedCache=false \
    -c core.splitIndex=false -c core.excludesFile=/dev/null -c core.attributesFile=/dev/null -c core.fileMode=true \
    -c core.quotePath=true -c core.autocrlf=false -c core.safecrlf=false -c color.ui=never -c diff.noprefix=false \
    -c diff.mnemonicPrefix=false -c diff.orderFile=/dev/null -c diff.interHunkContext=0 -c advice.addEmbeddedRepo=false "$@"
}
case $what in
  all)
    rm -f "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.lock" .git/info/attributes
    g read-tree "$base" && g add -A -- . >&2 ;;
  without) g update-index -z --force-remove --stdin ;;
  binary) mkdir -p .git/info && cat >.git/info/attributes ;;
esac || exit
g diff-index --cached --raw -z --no-renames "$base" && printf '\0' && g diff-index --cached -p --binary --full-index --no-renames --no-ext-diff --no-textconv --unified=3 \
  --src-prefix=a/ --dst-prefix=b/ "$base"`;

export interface GitOutput {
  /** The list, as `git diff-index --raw -z` prints it. */
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
  const pieces: Uint8Array[] = [];
  let size = 0;
  const onStdout = (piece: Uint8Array): void => {
    size += piece.length;
    if (size <= LARGEST) pieces.push(piece);
  };
  const argv = ['/bin/sh', '-c', SCRIPT, 'sh', what, workspace.base, workspace.workdir];
  const outcome = await workspace.run(argv, { onStdout, ...(stdin === undefined ? {} : { stdin }) }, signal);
  if (outcome.kind !== 'exited') throw new PatchLostError(`reading it ended ${outcome.kind}`);
  if (outcome.exitCode !== 0) throw new PatchLostError(outcome.stderr.trim().slice(-300));
  const bytes = Buffer.concat(pieces);
  const end = bytes[0] === 0 ? 0 : bytes.indexOf('\0\0') + 1;
  return { list: bytes.toString('utf8', 0, end), difference: size > LARGEST ? null : bytes.subarray(end + 1) };
}
