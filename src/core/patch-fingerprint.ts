import type { StructuredPatch } from 'diff';
import { contentKey } from './fingerprint.js';
import type { PatchFile, ReadablePatch } from './patch.js';

/**
 * SHA-256 of what a patch's source files do: for each file, by path, its kind of change and every removed and added
 * line with the old line number it stands at. Equal for patches that differ only in context width, hunk cutting, index
 * lines or the order of files; two patches with equal fingerprints make the same tree, so one is verified for both.
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
      if (!line.startsWith(' ')) found.push([at, line]);
      if (line.startsWith(' ') || line.startsWith('-')) at += 1;
    }
  }
  return found;
}
