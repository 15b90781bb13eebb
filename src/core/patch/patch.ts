import { refusalOf, type RefusalReason, type FileRole, isSubject, roleOf, roleOfNew, type Refusal } from './paths.js';
import { applyPatch, parsePatch, type StructuredPatch } from 'diff';
import { type FileSection, fileSections, UnreadablePatch } from './sections.js';
import { sha256 } from '../identifier.js';

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

/** `git apply` with hooks, attribute filters and the repository's own whitespace rules out of play. */
export const GIT_APPLY: readonly string[] = [
  'git',
  ...['core.hooksPath=/dev/null', 'core.attributesFile=/dev/null', 'safe.directory=*'].flatMap((entry) => [
    '-c',
    entry,
  ]),
  'apply',
  '--whitespace=nowarn',
];

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

/** What a run goes by of a patch. */
type PatchSummary =
  | { readonly kind: 'empty' }
  | ({ readonly kind: 'refused' } & Refusal)
  | {
      readonly kind: 'ok';
      /** What is applied for verification; '' = nothing. */
      readonly source: string;
      readonly setApart: readonly SetApartFile[];
      /** Manifests that are applied, since the issue is about them. */
      readonly manifests: readonly string[];
      readonly size: number;
      readonly fingerprint: string;
    };

interface Patched {
  readonly patch: string;
}

/** A patch of megabytes takes a tenth of a second to read, and is asked about again and again. */
const known = new WeakMap<Patched, { readonly statement: string; readonly summary: PatchSummary }>();

/** @param statement of the issue */
export function summaryOf(candidate: Patched, statement: string): PatchSummary {
  const held = known.get(candidate);
  if (held?.statement === statement) return held.summary;
  const summary = summarise(candidate, statement);
  known.set(candidate, { statement, summary });
  return summary;
}

/** Reads the patches of candidates for those who ask later; others have their turn between one and the next. */
export async function readSummaries(candidates: readonly Patched[], statement: string): Promise<void> {
  for (const candidate of candidates) {
    summaryOf(candidate, statement);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function summarise({ patch: text }: Patched, statement: string): PatchSummary {
  const patch = readPatch(text, statement);
  if (patch.kind !== 'ok') return patch;
  const manifests = patch.files.filter(({ role, path }) => role === 'source' && roleOf(path) === 'runner-config');
  return {
    kind: 'ok',
    ...splitPatch(patch),
    manifests: manifests.map(({ path }) => path),
    size: patchSize(patch),
    fingerprint: fingerprint(patch),
  };
}

/**
 * SHA-256 of what a patch's source files say to git: for each file, by path, its kind of change and its hunks, numbers
 * and context included, since these decide whether and where git applies a hunk. Equal for patches that differ only in
 * index lines, the order of files or what stands around hunks: git does the same with them, so one is verified for all.
 */
export function fingerprint({ files }: ReadablePatch): string {
  const source = files.filter(({ role }) => role === 'source');
  const described = source.map(describe);
  const ordered = orderMatters(source) ? described : described.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return sha256(JSON.stringify(ordered));
}

/** Git keeps account of files that a patch moves or names twice. */
function orderMatters(files: readonly PatchFile[]): boolean {
  const paths = new Set(files.map(({ path }) => path));
  return paths.size < files.length || files.some(({ parsed }) => parsed.isRename === true || parsed.isCopy === true);
}

/** With the members in the order in which `contentKey` would sort them: for a million lines that takes seconds. */
function describe({ path, text, parsed }: PatchFile): [string, ...unknown[]] {
  const { oldFileName, newFileName, isRename, isCopy, isCreate, isDelete, isBinary, oldMode, newMode, hunks } = parsed;
  const kind = { isBinary, isCopy, isCreate, isDelete, isRename, newFileName, newMode, oldFileName, oldMode };
  const changes = hunks.map(({ oldStart, newStart, lines }) => [oldStart, newStart, lines]);
  return [path, kind, isBinary === true ? text : changes];
}
