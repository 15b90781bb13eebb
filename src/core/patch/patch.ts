import {
  refusalOf,
  type RefusalReason,
  type FileRole,
  isSubject,
  roleOf,
  roleOfNew,
  type Refusal,
} from './file-roles.js';
import { applyPatch, parsePatch, type StructuredPatch } from 'diff';
import { type FileSection, fileSections, UnreadablePatch } from './sections.js';
import { hasFullIndex, type PatchForm, type Repair, repairLines, withoutStubs } from './repair-patch.js';
import { changedRuns, type Hunk } from './changed-runs.js';
import { nextTurn } from '../async/time.js';
import { sha256 } from '../identifier.js';

/** Length limit of a patch, in UTF-16 units; real patches are far shorter. */
const MAX_PATCH_LENGTH = 10 * 1024 * 1024;

export interface PatchFile {
  /** Path in the repository: the new one, or the old one if the file is deleted. */
  readonly path: string;
  /** Every path that it reads or writes: one, or old and new for a renamed or copied file. */
  readonly paths: readonly string[];
  readonly role: FileRole;
  /** Its section of the patch, byte for byte, ending in a line feed. */
  readonly text: string;
  readonly parsed: StructuredPatch;
}

export type ParsedPatch =
  | { readonly kind: 'empty' }
  | ({ readonly kind: 'refused' } & { readonly reason: RefusalReason; readonly detail: string })
  | ({ readonly kind: 'ok'; readonly files: readonly PatchFile[] } & PatchForm);

export type ReadablePatch = Extract<ParsedPatch, { kind: 'ok' }>;

/**
 * Reads an untrusted unified git diff. Never throws. Refuses patches that are unsafe to apply (paths or links that
 * leave the tree, git's own files, submodules) or unreadable. If it can only be read after a repair that needs no
 * knowledge of base, the result is the repaired patch, with the names of the repairs.
 * @param statement of the issue: a patch that only changes manifests is a source change if the issue is about them
 */
export function readPatch(text: string, statement = ''): ParsedPatch {
  const strict = readStrictly(text, statement);
  const isUnreadable = strict.kind === 'refused' && strict.reason !== 'too-large';
  const form = isUnreadable ? repairLines(text) : { text, repairs: [] };
  const stubless = form === null ? null : withoutStubs(form, (section) => !hasFullIndex(section));
  if (stubless === null || stubless.text === text) return strict;
  const repaired = readStrictly(stubless.text, statement);
  if (repaired.kind === 'ok') return { ...repaired, repairs: stubless.repairs };
  if (repaired.kind === 'refused') return isUnreadable ? strict : repaired;
  const detail = 'it consists of binary files without their data; make it with git diff --binary';
  return { kind: 'refused', reason: 'unparsable', detail };
}

function readStrictly(text: string, statement: string): ParsedPatch {
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
    return { kind: 'ok', files, text, repairs: [] };
  } catch (error) {
    if (!(error instanceof UnreadablePatch)) throw error;
    return { kind: 'refused', reason: error.reason, detail: error.message };
  }
}

/** A manifest next to other source changes stays set apart: it may just configure the tests. */
function withSubject(files: readonly PatchFile[], statement: string): readonly PatchFile[] {
  if (files.some(({ role }) => role === 'source')) return files;
  return files.map((file) =>
    file.paths.every((path) => isSubject(path, statement)) ? { ...file, role: 'source' } : file,
  );
}

/**
 * Ensures that dropping files does not change how git reads the others, e.g. when the last line of one header comes to
 * precede the first line of another.
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
  // A test renamed to source is set apart, to be on the safe side.
  const roles = paths.map((each) => (each === old && !createsFile(parsed) ? roleOf(each) : roleOfNew(each)));
  const role = roles.find((each) => each !== 'source') ?? 'source';
  if (role !== 'source' && old !== null && next !== null && parsed.isRename === true && roleOf(old) === 'source') {
    return takenAway(text, old, next);
  }
  return { path, paths: [...new Set(paths)], role, text, parsed };
}

/** Whether git creates the file, or gives it a new name. Binary and empty ones have no `/dev/null`, and old formats no mode. */
export function createsFile({ isCreate, isRename, isCopy, oldFileName, hunks }: StructuredPatch): boolean {
  const [first] = hunks;
  // `@@ -0,0` is parsed as line 1.
  const isFirst = first?.oldLines === 0 && first.oldStart <= 1;
  const isCreated = isCreate === true || oldFileName === '/dev/null' || isFirst;
  return isCreated || isRename === true || isCopy === true;
}

/** No program loads a file with this suffix. */
const TAKEN_AWAY = '.taken-away-by-patch';

/**
 * Handles source that a patch renames to a test or to runner configuration. The returned patch removes that source, so
 * verification must remove it too, but the new file is set apart: here the source is renamed to a name that is neither.
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
    if (file === undefined || more.length > 0) throw new UnreadablePatch('a file section has more than one file');
    return file;
  } catch (error) {
    throw error instanceof UnreadablePatch ? error : new UnreadablePatch((error as Error).message);
  }
}

/** The top-level prefixes that git writes before a path; `git apply` strips any of them. */
const PREFIX = /^(a|b|c|i|o|w)\//;

/**
 * The path that `git apply` would write; null for `/dev/null`. @throws UnreadablePatch for a name that git would read
 * differently
 */
function repositoryPath(name: string | undefined, { isRename, isCopy, hunks }: StructuredPatch): string | null {
  if (name === undefined || name === '/dev/null') return null;
  if (name.startsWith('/')) return name;
  if (PREFIX.test(name)) return name.replace(PREFIX, '');
  if ((isRename === true || isCopy === true) && hunks.length === 0) return name;
  throw new UnreadablePatch(`"${name.slice(0, 200)}" does not begin with a/ or b/`);
}

/** Limit of hunks × lines: a hunk may claim any position and is then searched for at every line. */
const MOST_PLACES = 2_000_000;

/**
 * `git apply` with hooks, attribute filters and the repository's whitespace rules disabled. At the repository's root: in
 * a folder below, it would leave out the files outside that folder, and succeed.
 */
export const GIT_APPLY: readonly string[] = [
  ...['sh', '-c', `cd "$(git -c safe.directory='*' rev-parse --show-toplevel)" && exec "$0" "$@"`, 'git'],
  ...['core.hooksPath=/dev/null', 'core.attributesFile=/dev/null', 'safe.directory=*'].flatMap((entry) => [
    '-c',
    entry,
  ]),
  'apply',
  '--whitespace=nowarn',
];

/**
 * A file's text with its section of a patch applied; null if the hunks do not fit, are binary, or are too many for the
 * file's length.
 */
export function patchedText({ parsed }: PatchFile, text: string): string | null {
  if (parsed.isBinary === true || parsed.hunks.length * text.split('\n').length > MOST_PLACES) return null;
  const patched = applyPatch(text, parsed);
  return patched === false ? null : patched;
}

export interface SetApartFile {
  readonly path: string;
  readonly role: Exclude<FileRole, 'source'>;
}

/** The part that verification applies, and the files it sets apart: tests and runner configuration stay as on base. */
export function splitPatch({ files }: ReadablePatch): {
  readonly source: string;
  readonly setApart: readonly SetApartFile[];
} {
  const source = files.filter(({ role }) => role === 'source').map(({ text }) => text);
  const setApart = files.flatMap(({ path, role }) => (role === 'source' ? [] : [{ path, role }]));
  return { source: source.join(''), setApart };
}

/** Added plus removed lines of the patch as returned, including those that verification sets apart. */
export function patchSize({ files }: ReadablePatch): number {
  let size = 0;
  for (const { parsed } of files)
    for (const { lines } of parsed.hunks) for (const line of lines) size += Number(/^[+-]/.test(line));
  return size;
}

/** What a run needs to know about a patch. */
type PatchSummary =
  | { readonly kind: 'empty' }
  | ({ readonly kind: 'refused' } & Refusal)
  | {
      readonly kind: 'ok';
      /** The whole patch as it was read, and how it differs from the candidate's. */
      readonly text: string;
      readonly repairs: readonly Repair[];
      /** The patch applied for verification; '' = nothing. */
      readonly source: string;
      readonly setApart: readonly SetApartFile[];
      /** Manifests that are applied because the issue is about them. */
      readonly manifests: readonly string[];
      readonly size: number;
      readonly fingerprint: string;
      /** See changeKey. */
      readonly change: string;
    };

interface Patched {
  readonly patch: string;
}

/** A cache: reading a patch of megabytes takes a tenth of a second, and its summary is needed repeatedly. */
const known = new WeakMap<Patched, { readonly statement: string; readonly summary: PatchSummary }>();

/** @param statement of the issue */
export function summaryOf(candidate: Patched, statement: string): PatchSummary {
  const held = known.get(candidate);
  if (held?.statement === statement) return held.summary;
  const summary = summarise(candidate, statement);
  known.set(candidate, { statement, summary });
  return summary;
}

/** Reads the candidates' patches into the cache, yielding to the event loop after each. */
export async function readSummaries(candidates: readonly Patched[], statement: string): Promise<void> {
  for (const candidate of candidates) {
    summaryOf(candidate, statement);
    await nextTurn();
  }
}

function summarise({ patch: text }: Patched, statement: string): PatchSummary {
  const patch = readPatch(text, statement);
  if (patch.kind !== 'ok') return patch;
  const manifests = patch.files.filter(({ role, path }) => role === 'source' && roleOf(path) === 'runner-config');
  return {
    kind: 'ok',
    text: patch.text,
    repairs: patch.repairs,
    ...splitPatch(patch),
    manifests: manifests.map(({ path }) => path),
    size: patchSize(patch),
    fingerprint: fingerprint(patch),
    change: changeKey(patch),
  };
}

/**
 * SHA-256 of what a patch's source files tell git: the path of each file, the kind of change and the hunks with line
 * numbers and context, since these decide whether and where git applies a hunk. Equal for patches that differ only in
 * index lines, file order or text around hunks: git treats them alike, so one is verified for all.
 */
export function fingerprint({ files }: Pick<ReadablePatch, 'files'>): string {
  return hashSources(files, (hunks) => hunks.map(({ oldStart, newStart, lines }) => [oldStart, newStart, lines]));
}

/**
 * SHA-256 of what a patch changes in which lines of its source files: equal for diffs of the same change that show more or less
 * context, or split it into other hunks. For votes: git may still treat them differently.
 */
export function changeKey({ files }: Pick<ReadablePatch, 'files'>): string {
  return hashSources(files, changedRuns);
}

type ChangesOf = (hunks: readonly Hunk[]) => readonly unknown[];

function hashSources(files: readonly PatchFile[], toChanges: ChangesOf): string {
  const source = files.filter(({ role }) => role === 'source');
  const described = source.map((file) => describe(file, toChanges));
  const ordered = orderMatters(source) ? described : described.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return sha256(JSON.stringify(ordered));
}

/** The order of files matters to git if a patch renames or copies files, or names one twice. */
function orderMatters(files: readonly PatchFile[]): boolean {
  const paths = new Set(files.map(({ path }) => path));
  return paths.size < files.length || files.some(({ parsed }) => parsed.isRename === true || parsed.isCopy === true);
}

/** Builds the members in `contentKey`'s sort order; `contentKey` itself would take seconds for a million lines. */
function describe({ path, text, parsed }: PatchFile, toChanges: ChangesOf): [string, ...unknown[]] {
  const { oldFileName, newFileName, isRename, isCopy, isCreate, isDelete, isBinary, oldMode, newMode, hunks } = parsed;
  const kind = { isBinary, isCopy, isCreate, isDelete, isRename, newFileName, newMode, oldFileName, oldMode };
  return [path, kind, isBinary === true ? text : toChanges(hunks)];
}
