import { sha256 } from '../fingerprint.js';
import type { PatchFile, ReadablePatch } from './patch.js';

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
