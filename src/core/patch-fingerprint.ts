import type { StructuredPatch } from 'diff';
import { contentKey } from './fingerprint.js';
import type { PatchFile, ReadablePatch } from './patch.js';

/**
 * SHA-256 of what a patch's source files do: for each file, by path, its kind of change and every line of its hunks with
 * the old line number it stands at. Context counts, since it decides whether and where git applies a hunk. Equal for
 * patches that differ only in index lines, hunk cutting or the order of files: git does the same with them, so one is
 * verified for all.
 */
export function fingerprint({ files }: ReadablePatch): string {
  const source = files.filter(({ role }) => role === 'source').map(describe);
  return contentKey(source.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

function describe({ path, text, parsed }: PatchFile): [string, ...unknown[]] {
  const { oldFileName, isRename, isCopy, isCreate, isDelete, isBinary, oldMode, newMode } = parsed;
  const from = isRename === true || isCopy === true ? oldFileName : undefined;
  const kind = { from, isRename, isCopy, isCreate, isDelete, isBinary, oldMode, newMode };
  return [path, kind, isBinary === true ? text : changes(parsed)];
}

function changes({ hunks }: StructuredPatch): unknown[] {
  const found: [number, string][] = [];
  for (const { oldStart, lines } of hunks) {
    // For a hunk without old lines the parser has already moved the start behind the line that git names.
    let at = oldStart;
    for (const line of lines) {
      found.push([at, line]);
      if (line.startsWith(' ') || line.startsWith('-')) at += 1;
    }
  }
  return found;
}
