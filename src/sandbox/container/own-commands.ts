import { posix } from 'node:path';
import { pack } from 'tar-stream';
import { BadInputError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { Ids, SandboxSpec, SandboxFile } from '../../ports/sandbox.js';
import { type Container, KILLED, LOADS_NO_CODE, SYSTEM_PATH } from './container.js';

/*
 * Reduces the repository to one orphan commit. Its later history often contains the answer to an issue, so nothing else
 * may stay reachable by any git command: other commits, unreachable objects, refs, reflogs, stash, remotes, alternates.
 *
 * One script, one exec, because each exec costs as much as the work. It leaves `.git` with an allowlist of entries
 * (objects, index, HEAD, info/exclude, and a config and ref written here) instead of deleting a list of known-bad ones.
 *
 * single  the repository already is one clean commit: every object is reachable from it. An image's content does not
 *         change, so the caller remembers this by image id and skips the check (`known`).
 * pack    the work tree is committed on top of the image's own index (tracked files stay tracked, ignored files stay
 *         untracked and untouched), only the objects of that commit are packed, and the object store is replaced.
 * init    for what `pack` cannot do (no repository, a linked one, nested ones, extensions): a new repository with the
 *         same files tracked. Directories named .git below the root also hold history and are removed.
 */
const SCRIPT = String.raw`
workdir=$1 base=$2 known=$3 tests=$4 patch=$5 system=$6; shift 6
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1 GIT_OPTIONAL_LOCKS=0 LC_ALL=C TZ=UTC
export GIT_AUTHOR_NAME=bestk GIT_AUTHOR_EMAIL=bestk@localhost GIT_AUTHOR_DATE='2000-01-01T00:00:00Z'
export GIT_COMMITTER_NAME=bestk GIT_COMMITTER_EMAIL=bestk@localhost GIT_COMMITTER_DATE='2000-01-01T00:00:00Z'
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_CEILING_DIRECTORIES
g() {
  git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.untrackedCache=false \
    -c core.splitIndex=false -c core.excludesFile=/dev/null -c core.attributesFile=/dev/null -c core.fileMode=true \
    -c core.checkStat=minimal -c core.trustctime=false -c gc.auto=0 -c maintenance.auto=false -c commit.gpgSign=false "$@"
}
cd "$workdir" 2>/dev/null || exit 10
command -v git >/dev/null || exit 12
top=$(g rev-parse --show-toplevel 2>/dev/null) && [ -n "$top" ] && cd "$top"

# Images copied from a read-only folder keep its modes, and without capabilities root has to respect them.
for entry in . ./* ./.[!.]*; do
  if [ -O "$entry" ] && [ ! -L "$entry" ] && [ ! -w "$entry" ]; then
    find . ! -type l ! -perm -200 -exec chmod u+w {} +
    break
  fi
done

if [ -n "$base" ]; then
  case $base in -*) exit 11 ;; esac
  want=$(g rev-parse -q --verify "$base^{commit}" 2>/dev/null) || exit 11
  [ "$(g rev-parse -q --verify HEAD)" = "$want" ] || g checkout -q -f --detach "$want" >&2 || exit 13
fi

[ -z "$patch" ] || printf '%s\n' "$patch" | g apply --whitespace=nowarn - >&2 || exit 15
for hidden do rm -rf -- "$hidden" || exit 16; done

plain() {
  [ -d .git ] && [ ! -L .git ] && g rev-parse -q --verify HEAD >/dev/null 2>&1 || return 1
  [ -z "$(g config --local --get-regexp '^extensions\.')" ] || return 1
  [ -z "$(find . -mindepth 2 -name .git -prune)" ]
}
single() {
  for odd in shallow modules objects/info/alternates info/grafts; do [ ! -e ".git/$odd" ] || return 1; done
  [ "$(g rev-list --count HEAD 2>/dev/null)" = 1 ] || return 1
  [ -z "$(g status --porcelain)" ] || return 1
  total=$(g count-objects -v | while read -r key n; do case $key in
    count:|in-pack:|garbage:) sum=$((${'${sum:-0}'} + n)); echo "$sum" ;; esac; done | tail -n 1)
  [ "$(g rev-list --objects HEAD | wc -l)" -eq "$total" ]
}
pack() {
  g add -A >&2 && tree=$(g write-tree) && commit=$(g commit-tree -m base "$tree") || return 1
  g rev-list --objects "$commit" >.git/bestk-list || return 1
  name=$(g pack-objects -q --window=0 .git/bestk <.git/bestk-list) || return 1
  rm -rf .git/objects && mkdir -p .git/objects/pack || return 1
  for part in .git/bestk-"$name".*; do mv "$part" ".git/objects/pack/pack-$name.${'${part##*.}'}" || return 1; done
}
init() {
  list=$(mktemp) && g ls-files -z >"$list" 2>/dev/null
  find . -name .git -prune -exec rm -rf {} + && g init -q . && g add -A >&2 || return 1
  g add -f --ignore-errors --pathspec-from-file="$list" --pathspec-file-nul >/dev/null 2>&1
  rm -f "$list"
  tree=$(g write-tree) && commit=$(g commit-tree -m base "$tree")
}
tidy() {
  for entry in .git/* .git/.[!.]*; do
    case $entry in .git/objects|.git/index|.git/HEAD|.git/info) ;; *) rm -rf "$entry" ;; esac
  done
  for entry in .git/info/*; do [ "$entry" = .git/info/exclude ] || rm -rf "$entry"; done
  rm -rf .git/objects/info
  mkdir -p .git/refs/heads .git/refs/tags &&
    printf '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = false\n' >.git/config &&
    printf '[user]\n\tname = bestk\n\temail = bestk@localhost\n[gc]\n\tauto = 0\n' >>.git/config &&
    echo "$commit" >.git/refs/heads/main && echo 'ref: refs/heads/main' >.git/HEAD
}
# The tests' user gets a name, reaches the repository and the image's home, and writes to memory file systems alone, with
# what pytest always writes to the root of a repository.
admit() {
  grep -q ":$1:" /etc/passwd || echo "tests:x:$1:$1::$HOME:/bin/sh" >>/etc/passwd
  grep -q ":$1:" /etc/group || echo "tests:x:$1:" >>/etc/group
  for d in "$HOME" "$PWD"; do
    while [ -n "$d" ] && [ "$d" != / ]; do
      case $(ls -ld "$d") in ?????????[xt]*) ;; *) chmod o+rx "$d" ;; esac
      d=${'${d%/*}'}
    done
  done
  chmod o-w /var/tmp /run/lock
  mkdir -m 1777 /tmp/.pytest_cache && [ ! -e .pytest_cache ] && ln -s /tmp/.pytest_cache .pytest_cache
}

# Folders of programs for commands on a patched repository: outside of it and of the home, to which tests may write, and
# root's alone to change. Others only if there is no git elsewhere.
programs() {
  root=$(pwd -P) safe= others= all=$system:$PATH
  set -f; IFS=:
  for d in $all; do
    case $d in /*) ;; *) continue ;; esac
    d=$(cd -P "$d" 2>/dev/null && pwd -P) || continue
    case $d/ in "$root"/*|"${'${HOME:-/dev/null}'}"/*) continue ;; esac
    case :$safe:$others: in *:"$d":*) continue ;; esac
    IFS=' '
    set -- $(ls -ldn "$d")
    IFS=:
    case $1$3 in d???????[!w]*[!0-9]0) safe=$safe:$d ;; *) others=$others:$d ;; esac
  done
  unset IFS; set +f
  PATH=${'${safe#:}'}
  command -v git >/dev/null || PATH=$PATH$others
}

if [ "$known" = 1 ] || { plain && single; }; then
  how=single
  commit=$(g rev-parse --verify HEAD) || exit 14
else
  how=pack
  { plain && pack; } || { how=init; init; } || exit 14
fi
tidy && [ "$(g rev-list --all --count)" = 1 ] || exit 14
[ -z "$tests" ] || [ "$(id -u)" != 0 ] || admit "$tests" 2>/dev/null
programs
timeout=$(command -v timeout) && timeout -k 1 9 true >/dev/null 2>&1 || timeout=
echo "$how $commit $(id -u) $(id -g) $timeout"
echo "$PATH"
`;

/** Errors by the script's exit status. */
const WRONG: Readonly<Record<number, (spec: SandboxSpec, image: string, said: string) => BadInputError>> = {
  10: ({ workdir }, image) =>
    new BadInputError(`${image} has no directory ${workdir}`, { field: 'environment.workdir' }),
  11: ({ baseCommit }, image) =>
    new BadInputError(`${image} does not contain commit ${String(baseCommit)}`, { field: 'environment.base_commit' }),
  12: (_, image) => new BadInputError(`${image} has no git`, { field: 'environment.image' }),
  15: (_, image, said) =>
    new BadInputError(`does not apply to ${image}: ${said}`, { field: 'environment.setup_patch' }),
};

/** The script's result. */
export interface Prepared {
  /** The image's repository already was one clean commit. */
  readonly wasSingle: boolean;
  /** The orphan commit that now holds the base. */
  readonly commit: string;
  /** The image's own user. */
  readonly ids: Ids;
  /** Absolute path of the image's `timeout`, null when it has none that supports `-k`. */
  readonly timeout: string | null;
  /** See `Container.programs`. */
  readonly programs: string;
}

/**
 * The tests' user in images whose own user is root: an id that no distribution assigns, and that every id map contains.
 */
export const TESTS_USER: Ids = { uid: 59_999, gid: 59_999 };

/** The script as a command; `known` if the same image was found to be a single clean commit before. */
export function prepareCommand(spec: SandboxSpec, known: boolean): string[] {
  const { workdir, baseCommit, separatesUsers, setupPatch = '', hiddenPaths = [] } = spec;
  const tests = separatesUsers === true ? String(TESTS_USER.uid) : '';
  const given = [workdir, baseCommit ?? '', known ? '1' : '0', tests, setupPatch, SYSTEM_PATH, ...hiddenPaths];
  return ['/bin/sh', '-c', SCRIPT, 'sh', ...given];
}

/** @throws BadInputError when the image lacks what the spec names, SandboxLostError when the script was interrupted. */
export function readPrepared(spec: SandboxSpec, exitCode: number, stdout: string, stderr: string): Prepared {
  const said = /^(single|pack|init) ([0-9a-f]+) (\d+) (\d+) (\/.*)?\n(\/.*)\n$/.exec(stdout);
  if (exitCode === 0 && said !== null) {
    const [, how, commit = '', uid, gid, timeout, programs = SYSTEM_PATH] = said;
    const ids = { uid: Number(uid), gid: Number(gid) };
    return { wasSingle: how === 'single', commit, ids, timeout: timeout ?? null, programs };
  }
  const image = `image "${spec.image}"`;
  const wrong = WRONG[exitCode]?.(spec, image, stderr.trim().slice(-400));
  if (wrong !== undefined) throw wrong;
  const detail = `preparing ${spec.workdir} ended with ${String(exitCode)}: ${stderr.trim().slice(-400)}`;
  if (exitCode === 0 || exitCode >= 128) throw new SandboxLostError(detail);
  throw new BadInputError(`${image}: ${detail}`, { field: 'environment.image' });
}

const OUTPUT_BYTES = 64 * 1024;
const TIMEOUT_MS = 60_000;

interface PlainCommand {
  readonly argv: readonly string[];
  /** See `ExecRequest.environment`. */
  readonly environment?: 'image';
  /** Absent = the image's own user. */
  readonly user?: Ids;
  readonly stdin?: Uint8Array;
  readonly outputBytes?: number;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

interface PlainResult {
  readonly exitCode: number;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/**
 * Runs a short command of bestk in the container.
 * @throws SandboxLostError when it does not end in time, the signal's reason, and errors from starting it.
 */
export async function runPlain(container: Container, command: PlainCommand): Promise<PlainResult> {
  const { argv, user, stdin, signal, timeoutMs = TIMEOUT_MS, outputBytes = OUTPUT_BYTES } = command;
  signal?.throwIfAborted();
  const env = command.environment === 'image' ? undefined : { ...LOADS_NO_CODE, PATH: container.programs };
  const running = await container.start({ argv, user, env, stdin, outputBytes, signal });
  const over = new AbortController();
  const cut = new Promise<never>((_, reject) => {
    const late = setTimeout(() => {
      reject(new SandboxLostError(`${argv[0] ?? ''} did not end within ${String(timeoutMs / 1000)} s`));
    }, timeoutMs);
    const onAbort = (): void => {
      reject(signal?.reason as Error);
    };
    signal?.addEventListener('abort', onAbort, { once: true, signal: over.signal });
    over.signal.addEventListener('abort', () => {
      clearTimeout(late);
    });
  });
  try {
    const exitCode = await Promise.race([running.exit, cut]);
    return { exitCode, stdout: running.stdout.bytes(), stderr: running.stderr.bytes() };
  } finally {
    over.abort();
    running.stop();
    running.exit.catch(() => undefined);
  }
}

const READ_FILE = '[ -f "$1" ] && [ ! -L "$1" ] || exit 3; exec head -c "$2" "$1"';

/** @throws BadInputError unless the path is absolute and below the root. */
export function absolutePath(path: string): string {
  const normal = posix.normalize(path);
  if (!path.startsWith('/') || path.includes('\0') || normal.endsWith('/')) {
    throw new BadInputError(`"${path}" is not the absolute path of a file`);
  }
  return normal;
}

/** A tar of `files`, to be extracted at the root. */
export async function tarOf(files: readonly SandboxFile[], ids: Ids): Promise<Buffer> {
  const archive = pack();
  for (const { path, content, mode } of files) {
    const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content);
    archive.entry({ name: absolutePath(path).slice(1), mode: mode ?? 0o644, ...ids }, bytes);
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Writes with the image's own `tar`. @throws BadInputError when it cannot. */
export async function writeInside(
  container: Container,
  files: readonly SandboxFile[],
  ids: Ids,
  signal: AbortSignal,
): Promise<void> {
  const stdin = await tarOf(files, ids);
  const { exitCode, stderr } = await runPlain(container, { argv: ['tar', '-xof', '-', '-C', '/'], stdin, signal });
  if (exitCode !== 0) throw new BadInputError(`cannot write ${files[0]?.path ?? ''}: ${stderr.toString()}`);
}

/**
 * Reads with the image's own `head`; null unless `path` is a readable regular file. Earlier code in the container may
 * have broken `head`, which counts as unreadable; only a lost container is an error.
 */
export async function readInside(
  container: Container,
  path: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  const argv = ['/bin/sh', '-c', READ_FILE, 'sh', path, String(maxBytes)];
  const askedAt = performance.now();
  const { exitCode, stdout } = await runPlain(container, { argv, outputBytes: maxBytes, signal });
  if (exitCode === 0) return stdout;
  if (exitCode === KILLED && (await container.fate(askedAt)) === null) await container.assertAlive();
  return null;
}
