import { applyPatch, parsePatch, type StructuredPatch } from 'diff';
import { type FileRole, isSubject, roleOf, roleOfNew } from './roles.js';
import { type FileSection, fileSections, UnreadablePatch } from './sections.js';

/** Largest patch that is read, in UTF-16 units; real ones are far below. */
const MAX_PATCH_LENGTH = 10 * 1024 * 1024;

/** One file of a patch. */
export interface PatchFile {
  /** Path in the repository: the new one, or the old one of a deleted file. */
  readonly path: string;
  /** Every path that it reads or writes: one, or the old and the new one of a renamed or copied file. */
  readonly paths: readonly string[];
  readonly role: FileRole;
  /** Its part of the patch, byte for byte, ending in a line feed. */
  readonly text: string;
  readonly parsed: StructuredPatch;
}

export type ParsedPatch =
  | { readonly kind: 'empty' }
  | ({ readonly kind: 'refused' } & { readonly reason: RefusalReason; readonly detail: string })
  | { readonly kind: 'ok'; readonly files: readonly PatchFile[] };

export type ReadablePatch = Extract<ParsedPatch, { kind: 'ok' }>;

/**
 * Reads a unified git diff from anywhere. Never throws. Refuses what must not be applied (paths out of the tree, git's
 * own files, links out of the tree, submodules) and what cannot be read; a missing last line feed is repaired.
 * @param statement of the issue: a patch of manifests alone, which it is about, is a source change
 */
export function readPatch(text: string, statement = ''): ParsedPatch {
  if (text.length > MAX_PATCH_LENGTH) {
    return { kind: 'refused', reason: 'too-large', detail: `${text.length} characters, ${MAX_PATCH_LENGTH} at most` };
  }
  if (text.trim() === '') return { kind: 'empty' };
  try {
    const sections = fileSections(text.endsWith('\n') ? text : `${text}\n`);
    const read: PatchFile[] = [];
    for (const section of sections) {
      const file = readFile(section);
      if ('reason' in file) return { kind: 'refused', ...file };
      read.push(file);
    }
    const files = withSubject(read, statement);
    checkSplit(files);
    return { kind: 'ok', files };
  } catch (error) {
    if (!(error instanceof UnreadablePatch)) throw error;
    return { kind: 'refused', reason: error.reason, detail: error.message };
  }
}

/** Beside other source a manifest stays set apart: it could as well configure the tests. */
function withSubject(files: readonly PatchFile[], statement: string): readonly PatchFile[] {
  if (files.some(({ role }) => role === 'source')) return files;
  return files.map((file) =>
    file.paths.every((path) => isSubject(path, statement)) ? { ...file, role: 'source' } : file,
  );
}

/**
 * Leaving files out must not make others mean something else, as where a header's last line then stands before another's
 * first.
 */
function checkSplit(files: readonly PatchFile[]): void {
  const source = files.filter(({ role }) => role === 'source').map(({ text }) => text);
  if (source.length === 0 || source.length === files.length) return;
  const again = fileSections(source.join('')).map(({ text }) => text);
  if (again.length !== source.length || again.some((text, index) => text !== source[index])) {
    throw new UnreadablePatch('its files cannot be told apart without one another');
  }
}

function readFile({ text, header, hunks }: FileSection): PatchFile | Refusal {
  const parsed = { ...structured(header), hunks };
  const old = repositoryPath(parsed.oldFileName, parsed);
  const next = repositoryPath(parsed.newFileName, parsed);
  const paths = [old, next].filter((path) => path !== null);
  const path = next ?? old;
  if (path === null) return { reason: 'unparsable', detail: 'a file has no name' };
  const refusal = refusalOf(paths, parsed);
  if (refusal !== null) return refusal;
  // A test renamed to source is set apart: the safe side.
  const roles = paths.map((each) => (each === old ? roleOf(each) : roleOfNew(each)));
  const role = roles.find((each) => each !== 'source') ?? 'source';
  if (role !== 'source' && old !== null && next !== null && parsed.isRename === true && roleOf(old) === 'source') {
    return takenAway(text, old, next);
  }
  return { path, paths: [...new Set(paths)], role, text, parsed };
}

/** No program looks for a file of this name. */
const TAKEN_AWAY = '.taken-away-by-patch';

/**
 * Source that a patch renames to a test or to runner configuration: what is returned takes it away, so verification has to
 * as well, and what it becomes is set apart. It is renamed to what is neither.
 */
function takenAway(text: string, old: string, next: string): PatchFile | Refusal {
  const to = old + TAKEN_AWAY;
  const hunks = text.indexOf('\n@@');
  const header = hunks === -1 ? text : text.slice(0, hunks);
  const renamed = header.split('\n').map((line) => {
    const names = line.startsWith('diff --git ') && line.endsWith(` b/${next}`);
    const isNext = names || line === `rename to ${next}` || line === `+++ b/${next}`;
    return isNext ? line.slice(0, -next.length) + to : line;
  });
  const changed = renamed.join('\n') + text.slice(header.length);
  const [section] = changed === text ? [] : fileSections(changed);
  const file = section === undefined ? null : readFile(section);
  if (file !== null && 'role' in file && file.path === to) return file;
  const detail = `it renames "${old}", which is source, to "${next}"; write a deletion and a new file (git diff --no-renames)`;
  return { reason: 'unparsable', detail };
}

function structured(header: string): StructuredPatch {
  try {
    const [file, ...more] = parsePatch(header);
    if (file === undefined || more.length > 0) throw new UnreadablePatch('a file section holds more than one file');
    return file;
  } catch (error) {
    throw error instanceof UnreadablePatch ? error : new UnreadablePatch((error as Error).message);
  }
}

/** The first folders that git writes before a path, and that `git apply` takes off whatever they are. */
const PREFIX = /^(a|b|c|i|o|w)\//;

/** The path that `git apply` would write; `/dev/null` is no file. @throws UnreadablePatch for one it reads otherwise */
function repositoryPath(name: string | undefined, { isRename, isCopy, hunks }: StructuredPatch): string | null {
  if (name === undefined || name === '/dev/null') return null;
  if (name.startsWith('/')) return name;
  if (PREFIX.test(name)) return name.replace(PREFIX, '');
  if ((isRename === true || isCopy === true) && hunks.length === 0) return name;
  throw new UnreadablePatch(`"${name.slice(0, 200)}" does not begin with a/ or b/`);
}

/** Places at which hunks are looked for: each may be said to stand anywhere, and is then looked for everywhere. */
const MOST_PLACES = 2_000_000;

/** A file's text with its part of a patch applied; null when the hunks do not fit, are no text, or too many for so long a file. */
export function patchedText({ parsed }: PatchFile, text: string): string | null {
  if (parsed.isBinary === true || parsed.hunks.length * text.split('\n').length > MOST_PLACES) return null;
  const patched = applyPatch(text, parsed);
  return patched === false ? null : patched;
}

export interface SetApartFile {
  readonly path: string;
  readonly role: Exclude<FileRole, 'source'>;
}

/** What verification applies, and what it does not: tests and runner configuration stay as they are at base. */
export function splitPatch({ files }: ReadablePatch): {
  readonly source: string;
  readonly setApart: readonly SetApartFile[];
} {
  const source = files.filter(({ role }) => role === 'source').map(({ text }) => text);
  const setApart = files.flatMap(({ path, role }) => (role === 'source' ? [] : [{ path, role }]));
  return { source: source.join(''), setApart };
}

/** Added plus removed lines of the patch as it is returned: also those that verification sets apart. */
export function patchSize({ files }: ReadablePatch): number {
  let size = 0;
  for (const { parsed } of files)
    for (const { lines } of parsed.hunks) for (const line of lines) size += Number(/^[+-]/.test(line));
  return size;
}

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
  const shown = path.slice(0, 200);
  if (path === '' || path.length > LONGEST_PATH || /[\u0000-\u001f\u007f\ufffd\\]/.test(path)) {
    return { reason: 'unsafe-path', detail: `"${shown}" is no plain path` };
  }
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return { reason: 'unsafe-path', detail: `"${shown}" is absolute` };
  if (/(^|\/)\.{0,2}(\/|$)/.test(path)) {
    return { reason: 'unsafe-path', detail: `"${shown}" leaves the repository or is not normal` };
  }
  // Names that some file systems take for `.git`.
  if (/(^|\/)(\.git|git~1)[. ]*(\/|$)/i.test(path)) {
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
