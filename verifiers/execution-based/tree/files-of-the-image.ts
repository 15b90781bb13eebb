import { z } from 'zod';
import { nextTurn } from '../../../src/core/async/time.js';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
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
 * that git ignores on base, which belong to the image's installation (a virtual environment, built extensions), new
 * files in folders of PATH, and new modules named like Python's own in folders of PYTHONPATH.
 */

const FilesOfImage = z.object({
  /** Paths of the patches that git ignores on base. */
  ignored: z.array(z.string()),
  /** Folders on PATH inside the repository; '' = its root. */
  programs: z.array(z.string()),
  /** Folders on PYTHONPATH inside the repository. */
  modules: z.array(z.string()),
});
type FilesOfImage = z.infer<typeof FilesOfImage>;

/** Increment when the script or its reading changes. */
const ASKED = 1;
const DEADLINE_S = 300;

/**
 * Prints entries that end in NUL: `programs FOLDER`, `modules FOLDER`, then the paths from stdin (one a line) that git
 * ignores. One git for all paths; one for each if some path makes git stop, e.g. one behind a link.
 */
const ASK = String.raw`
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
g() { git -c safe.directory='*' -c core.excludesFile=/dev/null "$@"; }
work=$(pwd -P)
top=$(g rev-parse --show-toplevel) && cd "$top" || exit 1
top=$(pwd -P)
inside() (
  set -f; IFS=:
  for folder in $2; do
    case $folder in /*) ;; *) folder=$work/$folder ;; esac
    folder=$(cd -P "$folder" 2>/dev/null && pwd -P || printf %s "$folder")
    case $folder/ in "$top"/*) folder=${'${folder#"$top"}'}; printf '%s %s\0' "$1" "${'${folder#/}'}" ;; esac
  done
)
inside programs "$PATH:"
[ -z "$PYTHONPATH" ] || inside modules "$PYTHONPATH"
paths=$(cat)
printf '%s\n' "$paths" | tr '\n' '\0' | g check-ignore -z --stdin 2>/dev/null
[ "$?" -lt 2 ] || printf '%s\n' "$paths" | while IFS= read -r path; do
  g check-ignore -z -- "$path" 2>/dev/null
done
exit 0`;

async function askFilesOfImage(
  session: SandboxSession,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<FilesOfImage> {
  // A colon at the beginning would be magic to git.
  const stdin = paths.map((path) => `./${path}\n`).join('');
  const argv = ['/bin/sh', '-c', ASK];
  const ended = await session.exec(inInstanceEnvironment({ argv, stdin, deadlineS: DEADLINE_S }), signal);
  if (ended.kind !== 'exited' || ended.exitCode !== 0 || ended.truncated) {
    throw new SandboxLostError(`git could not be asked which files it ignores: ${ended.stderr.slice(0, 500)}`);
  }
  const entries = ended.stdout.split('\0').slice(0, -1);
  const folders = (kind: string): string[] =>
    entries.flatMap((entry) => (entry.startsWith(`${kind} `) ? [entry.slice(kind.length + 1)] : []));
  return {
    ignored: entries.flatMap((entry) => (entry.startsWith('./') ? [entry.slice(2)] : [])),
    programs: folders('programs'),
    modules: folders('modules'),
  };
}

/** Modes of programs, and of links to them or to their folder. */
const EXECUTABLE: ReadonlySet<string> = new Set(['100755', '120000']);

function isOfImage({ parsed, path, paths }: PatchFile, { ignored, programs, modules }: FilesOfImage): boolean {
  if (paths.some((each) => ignored.includes(each))) return true;
  if (!createsFile(parsed)) return false;
  const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
  // What is renamed or copied keeps its mode, which the patch need not tell.
  const mayRun = paths.length > 1 || EXECUTABLE.has(parsed.newMode ?? '');
  const isProgram = mayRun && programs.some((folder) => folder === parent || `${folder}/`.startsWith(`${path}/`));
  const isModule = modules.some((folder) => {
    const prefix = folder === '' ? '' : `${folder}/`;
    return path.startsWith(prefix) && isOthersModule(path.slice(prefix.length));
  });
  return isProgram || isModule;
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
  const found = await findFilesOfImage(context, paths, sessions, signal);
  const patches = new Map<string, DistinctPatch>();
  const unverifiable: Unverifiable[] = [];
  const setApart = new Map<string, string[]>();
  for (const [patch, files] of read) {
    const apart = files.filter((file) => isOfImage(file, found));
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
