import { contentKey } from '../fingerprint.js';
import type { PatchFile, ReadablePatch } from './patch.js';

/**
 * SHA-256 of what a patch's source files say to git: for each file, by path, its kind of change and its hunks, numbers
 * and context included, since these decide whether and where git applies a hunk. Equal for patches that differ only in
 * index lines, the order of files or what stands around hunks: git does the same with them, so one is verified for all.
 */
export function fingerprint({ files }: ReadablePatch): string {
  const source = files.filter(({ role }) => role === 'source');
  const described = source.map(describe);
  return contentKey(orderMatters(source) ? described : described.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** Git keeps account of files that a patch moves or names twice. */
function orderMatters(files: readonly PatchFile[]): boolean {
  const paths = new Set(files.map(({ path }) => path));
  return paths.size < files.length || files.some(({ parsed }) => parsed.isRename === true || parsed.isCopy === true);
}

function describe({ path, text, parsed }: PatchFile): [string, ...unknown[]] {
  const { oldFileName, newFileName, isRename, isCopy, isCreate, isDelete, isBinary, oldMode, newMode, hunks } = parsed;
  const kind = { oldFileName, newFileName, isRename, isCopy, isCreate, isDelete, isBinary, oldMode, newMode };
  const changes = hunks.map(({ oldStart, newStart, lines }) => [oldStart, newStart, lines]);
  return [path, kind, isBinary === true ? text : changes];
}
