import { z } from 'zod';
import { nextTurn } from '../../../src/core/async/time.js';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
import { CappedBytes } from '../../../src/core/hostile-text.js';
import { contentKey } from '../../../src/core/identifier.js';
import { isOthersModule } from '../../../src/core/patch/file-roles.js';
import { createsFile, fingerprint, type PatchFile, readPatch } from '../../../src/core/patch/patch.js';
import type { SandboxSession } from '../../../src/ports/sandbox.js';
import { inInstanceEnvironment } from '../drivers/test-dialect.js';
import { contextKey, type DistinctPatch, type ExecutionContext } from '../execution-context.js';
import type { Unverifiable } from './applicability.js';
import type { TreeSessions } from './tree-sessions.js';

/*
 * Files that verification sets apart because of what the image is, not by their names (core/patch/file-roles.ts): files
 * that git ignores on base, which belong to the image's installation (a virtual environment, built extensions), the
 * interpreters that root starts, new programs in folders of PATH that have the names of others, links to such folders,
 * and new modules named like Python's own in folders of PYTHONPATH.
 */

const FilesOfImage = z.object({
  /** Paths of the patches that git ignores on base, unless they are new and beside files that git tracks. */
  ignored: z.array(z.string()),
  /** Folders on PATH inside the repository, under each name that they have there; '' = its root. */
  programs: z.array(z.string()),
  /** Names of the patches' files that are commands on base. */
  commands: z.array(z.string()),
  /** The interpreters of drivers inside the repository, and the links to them. */
  interpreters: z.array(z.string()),
  /** Folders on PYTHONPATH inside the repository. */
  modules: z.array(z.string()),
});
type FilesOfImage = z.infer<typeof FilesOfImage>;

/** Increment when the script or its reading changes. */
const ASKED = 2;
const DEADLINE_S = 300;
/** Bytes that are printed about the paths of all patches, which may be thousands. */
const LARGEST_ANSWER = 64 * 1024 * 1024;

/** Programs that root looks up on the image's PATH. */
const INTERPRETERS = ['python3', 'node'];

/**
 * Prints entries that end in NUL: kinds with a path or name, then the paths from stdin (one a line) that git ignores.
 * One git for all paths; one for each if some path makes git stop, e.g. one behind a link. `walk` prints every path
 * inside the repository that a path outside or inside means: as it is written from each folder on, and through each
 * link.
 */
const ASK = String.raw`
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
g() { git -c safe.directory='*' -c core.excludesFile=/dev/null "$@"; }
work=$(pwd -P)
top=$(g rev-parse --show-toplevel) && cd "$top" || exit 1
top=$(pwd -P)
walk() (
  at=$2 rest=
  while [ -n "$at" ]; do
    real=$(cd -P "$at" 2>/dev/null && pwd -P) &&
      case $real/ in "$top"/*) printf '%s %s\0' "$1" "${'${real#"$top"}'}$rest" ;; esac
    if [ -h "$at" ] && [ "$3" -lt 8 ] && to=$(readlink "$at"); then
      case $to in /*) ;; *) to=${'${at%/*}'}/$to ;; esac
      walk "$1" "$to$rest" $(($3 + 1))
    fi
    rest=/${'${at##*/}'}$rest
    at=${'${at%/*}'}
  done
)
inside() (
  set -f; IFS=:
  for folder in $2; do
    case $folder in /*) ;; *) folder=$work/$folder ;; esac
    walk "$1" "$folder" 0
  done
)
inside programs "$PATH:"
[ -z "$PYTHONPATH" ] || inside modules "$PYTHONPATH"
for name do program=$(command -v "$name") && inside interpreters "$program"; done
paths=$(cat)
printf '%s\n' "$paths" | while IFS= read -r path; do
  name=${'${path##*/}'}
  case $name in -*) ;; *) command -v "$name" >/dev/null 2>&1 && printf 'commands %s\0' "$name" ;; esac
done
{
  printf '%s\n' "$paths" | tr '\n' '\0' | g check-ignore -z --stdin 2>/dev/null
  [ "$?" -lt 2 ] || printf '%s\n' "$paths" | while IFS= read -r path; do
    printf '%s\0' "$path" | g check-ignore -z --stdin 2>/dev/null
  done
} | tr '\0' '\n' | {
  last= tracked=
  while IFS= read -r path; do
    folder=${'${path%/*}'}
    until [ -d "$folder" ]; do folder=${'${folder%/*}'}; done
    [ "$folder" = "$last" ] || tracked=$(g --literal-pathspecs ls-files -- "$folder" | head -n 1)
    last=$folder
    if [ -e "$path" ] || [ -z "$tracked" ]; then printf '%s\0' "$path"; fi
  done
}
exit 0`;

async function askFilesOfImage(
  session: SandboxSession,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<FilesOfImage> {
  // A colon at the beginning would be magic to git.
  const stdin = paths.map((path) => `./${path}\n`).join('');
  const argv = ['/bin/sh', '-c', ASK, 'sh', ...INTERPRETERS];
  const printed = new CappedBytes(LARGEST_ANSWER);
  const onStdout = (piece: Uint8Array): void => {
    printed.push(piece);
  };
  const ended = await session.exec(inInstanceEnvironment({ argv, stdin, deadlineS: DEADLINE_S, onStdout }), signal);
  if (ended.kind !== 'exited' || ended.exitCode !== 0 || printed.truncated) {
    throw new SandboxLostError(`git could not be asked which files it ignores: ${ended.stderr.slice(0, 500)}`);
  }
  const entries = printed.bytes().toString('utf8').split('\0').slice(0, -1);
  const named = (kind: string): string[] =>
    entries.flatMap((entry) => (entry.startsWith(`${kind} `) ? [entry.slice(kind.length + 1)] : []));
  const places = (kind: string): string[] => [...new Set(named(kind).map(plainPath))];
  return {
    ignored: entries.flatMap((entry) => (entry.startsWith('./') ? [entry.slice(2)] : [])),
    programs: places('programs'),
    commands: [...new Set(named('commands'))],
    interpreters: places('interpreters'),
    modules: places('modules'),
  };
}

/** Relative to the repository's root, without `./`, `..` and doubled slashes; '' = the root. */
function plainPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}

/** Modes of programs, and of links to them or to their folder. */
const EXECUTABLE: ReadonlySet<string> = new Set(['100755', '120000']);

/** What the image tells, for many questions about it. */
type KnownImage = Omit<FilesOfImage, 'ignored'> & { readonly ignored: ReadonlySet<string> };

function isOfImage({ parsed, path, paths }: PatchFile, image: KnownImage): boolean {
  const { ignored, programs, commands, interpreters, modules } = image;
  // A file in the place of a folder is a link, whether the patch adds it or changes its target.
  const places = [...programs, ...interpreters].map((place) => `${place}/`);
  if (paths.some((each) => ignored.has(each) || places.some((place) => place.startsWith(`${each}/`)))) return true;
  const slash = path.lastIndexOf('/');
  const [folder, name] = [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)];
  // What is renamed or copied keeps its mode, which the patch need not tell.
  const mayRun = paths.length > 1 || EXECUTABLE.has(parsed.newMode ?? '');
  const isCommand = commands.includes(name) || INTERPRETERS.includes(name);
  if (mayRun && isCommand && programs.includes(folder)) return true;
  if (!createsFile(parsed)) return false;
  return modules.some((each) => {
    const prefix = each === '' ? '' : `${each}/`;
    return path.startsWith(prefix) && isOthersModule(path.slice(prefix.length));
  });
}

/** The files of the image; a patch may have several sections for one file. */
function filesOfImageIn(files: readonly PatchFile[], image: KnownImage): readonly PatchFile[] {
  const apart = new Set(files.filter((file) => isOfImage(file, image)).flatMap(({ paths }) => paths));
  return files.filter(({ paths }) => paths.some((path) => apart.has(path)));
}

/** Patches without the image's own files. */
export interface PatchesApart {
  readonly patches: readonly DistinctPatch[];
  readonly unverifiable: readonly Unverifiable[];
  /** Paths set apart, by candidate. */
  readonly setApart: ReadonlyMap<string, string[]>;
}

/**
 * Sets apart what patches change of the image's own files; patches that are equal without them become one.
 * @param sessions on base
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function setFilesOfImageApart(
  context: ExecutionContext,
  given: readonly DistinctPatch[],
  sessions: TreeSessions,
  signal: AbortSignal,
): Promise<PatchesApart> {
  const read: (readonly [DistinctPatch, readonly PatchFile[]])[] = [];
  for (const patch of given) {
    const parsed = readPatch(patch.source);
    read.push([patch, parsed.kind === 'ok' ? parsed.files : []]);
    await nextTurn();
  }
  const paths = [...new Set(read.flatMap(([, files]) => files.flatMap((file) => file.paths)))].sort();
  const { ignored, ...places } = await findFilesOfImage(context, paths, sessions, signal);
  const image = { ...places, ignored: new Set(ignored) };
  const patches = new Map<string, DistinctPatch>();
  const unverifiable: Unverifiable[] = [];
  const setApart = new Map<string, string[]>();
  for (const [patch, files] of read) {
    const apart = filesOfImageIn(files, image);
    const rest = apart.length === 0 ? patch : withoutFiles(patch, files, apart);
    if ('reason' in rest) {
      unverifiable.push(...patch.candidateIds.map((candidateId) => ({ candidateId, ...rest })));
      continue;
    }
    for (const id of apart.length === 0 ? [] : patch.candidateIds)
      setApart.set(
        id,
        apart.map(({ path }) => path),
      );
    const key =
      apart.length === 0 ? fingerprintOf(files) : fingerprintOf(files.filter((file) => !apart.includes(file)));
    const same = patches.get(key);
    patches.set(
      key,
      same === undefined ? rest : { ...same, candidateIds: [...same.candidateIds, ...rest.candidateIds] },
    );
  }
  return { patches: [...patches.values()], unverifiable, setApart };
}

function fingerprintOf(files: readonly PatchFile[]): string {
  return fingerprint({ files: files.map((file) => ({ ...file, role: 'source' })) });
}

async function findFilesOfImage(
  context: ExecutionContext,
  paths: readonly string[],
  sessions: TreeSessions,
  signal: AbortSignal,
): Promise<FilesOfImage> {
  const key = contentKey({ kind: 'files-of-image', asked: ASKED, ...contextKey(context), paths });
  const stored = FilesOfImage.safeParse(await context.results.get(key));
  if (stored.success) return stored.data;
  const found = await sessions.use((session) => askFilesOfImage(session, paths, signal));
  await context.results.put(key, 'files-of-image', found);
  return found;
}

type Reason = Omit<Unverifiable, 'candidateId'>;

function withoutFiles(
  patch: DistinctPatch,
  files: readonly PatchFile[],
  apart: readonly PatchFile[],
): DistinctPatch | Reason {
  const names = apart.slice(0, 5).map(({ path }) => path);
  const rest = files.filter((file) => !apart.includes(file));
  const source = rest.map(({ text }) => text).join('');
  const again = readPatch(source);
  const isMixed = rest.length > 0 && (again.kind !== 'ok' || again.files.length < rest.length);
  // Without its new name, the file would still have the old one.
  if (isMixed || apart.some(({ parsed }) => parsed.isRename === true)) {
    const detail = `it renames source to files of the image, or cannot be read without them (${names.join(', ')}); write a deletion and a new file (git diff --no-renames)`;
    return { reason: 'refused-patch', detail };
  }
  if (rest.length === 0) {
    const detail = `the patch changes only files of the image, which git ignores or PATH names: ${names.join(', ')}`;
    return { reason: 'no-source-change', detail };
  }
  return { ...patch, source };
}
