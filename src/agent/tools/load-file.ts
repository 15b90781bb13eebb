import type { FileEdit } from './action.js';
import { clipChars, counted, told, type ToolOutcome } from './tool-outcome.js';
import type { Workspace } from './workspace.js';

/** Larger files must be viewed with commands. */
const LARGEST = 4 * 1024 * 1024;

/** An editable file with its resolved path, or why it cannot be edited; the caller handles `directory` and `missing`. */
export type Loaded =
  | { readonly kind: 'text'; readonly path: string; readonly bytes: Uint8Array; readonly file: TextFile }
  | { readonly kind: 'directory' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unfit'; readonly problem: string };

/** Reads a file, following links. @throws what the session throws */
export async function loadFile(path: string, workspace: Workspace, signal: AbortSignal): Promise<Loaded> {
  let real = path;
  let bytes = path.endsWith('/') ? null : await workspace.read(path, LARGEST + 1, signal);
  if (bytes === null) {
    const found = await kindOf(path, workspace, signal);
    if (found.kind === 'directory' || found.kind === 'missing') return { kind: found.kind };
    real = found.real;
    bytes = found.kind === 'file' ? await workspace.read(real, LARGEST + 1, signal) : null;
  }
  if (bytes === null) return { kind: 'unfit', problem: `${path} is not a readable regular file.` };
  if (bytes.length > LARGEST) {
    return {
      kind: 'unfit',
      problem: `${path} is larger than ${LARGEST / 1024 / 1024} MiB. Use execute_bash to read or change it.`,
    };
  }
  const file = decodeFile(bytes);
  if (file === null) return { kind: 'unfit', problem: `${path} is a binary file.` };
  return { kind: 'text', path: real, bytes, file };
}

export type PathKind = 'file' | 'directory' | 'other' | 'missing';

/** Prints the kind of a path, and its target with links resolved. */
const SCRIPT = String.raw`
p=$1
if [ -d "$p" ]; then kind=directory
elif [ -f "$p" ]; then kind=file
elif [ -e "$p" ] || [ -L "$p" ]; then kind=other
else kind=missing; fi
printf '%s\n' "$kind"
[ "$kind" = file ] && { readlink -f -- "$p" 2>/dev/null || printf '%s\n' "$p"; }
exit 0`;

/** @throws what the session throws */
export async function kindOf(
  path: string,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<{ kind: PathKind; real: string }> {
  const outcome = await workspace.run(['/bin/sh', '-c', SCRIPT, 'sh', path], {}, signal);
  const [kind = 'missing', ...rest] = outcome.stdout.split('\n');
  const real = rest.join('\n').replace(/\n$/, '');
  return { kind: isKind(kind) ? kind : 'other', real: real === '' ? path : real };
}

function isKind(word: string): word is PathKind {
  return ['file', 'directory', 'other', 'missing'].includes(word);
}

/** A file as text, with what is needed to write it back byte for byte. */
export interface TextFile {
  readonly text: string;
  readonly encoding: 'utf-8' | 'latin1';
  readonly endings: 'lf' | 'crlf';
}

/** @returns null for a file that is not text: it contains a NUL byte */
export function decodeFile(bytes: Uint8Array): TextFile | null {
  if (bytes.includes(0)) return null;
  const utf8 = decodeUtf8(bytes);
  const text = utf8 ?? Buffer.from(bytes).toString('latin1');
  const lines = text.split('\n').length - 1;
  const endings = lines > 0 && text.split('\r\n').length - 1 === lines ? 'crlf' : 'lf';
  return { text, encoding: utf8 === null ? 'latin1' : 'utf-8', endings };
}

/** @returns null when the encoding cannot represent a character of `text` */
export function encodeFile(text: string, encoding: TextFile['encoding']): Uint8Array | null {
  if (encoding === 'utf-8') return new TextEncoder().encode(text);
  return /[^\0-\xff]/.test(text) ? null : Buffer.from(text, 'latin1');
}

function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

const LONGEST = 24_000;
/** R2E-Gym's limit: its models have room for 64k tokens. */
const LONGEST_IN_R2E = 10_000;
const MOST_LINES_IN_R2E = 110;

/** Characters of a file or listing that are shown at once. */
export function longestIn({ asR2e }: Workspace): number {
  return asR2e ? LONGEST_IN_R2E : LONGEST;
}

/** Lines of a Python file above which only its skeleton is shown unless a range is asked for. */
function mostLinesIn({ asR2e }: Workspace): number {
  return asR2e ? MOST_LINES_IN_R2E : Infinity;
}

/** Lines `first` to `last` of a text, from 1, numbered in the format of `cat -n`. */
export function numbered(text: string, first: number, last: number, longest = LONGEST): string {
  const lines = linesOf(text).slice(first - 1, last);
  return clipChars(lines.map((line, index) => numberedLine(first + index, line)).join('\n'), longest);
}

function numberedLine(number: number, line: string): string {
  return `${String(number).padStart(6)}\t${line}`;
}

/** Number of lines of a text; a last line without a line end counts unless it is empty. */
export function countLines(text: string): number {
  return linesOf(text).length;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
}

/** Lines of a Python text that start a class or a function, and their decorators, with line numbers. */
export function outline(text: string): string {
  const lines = linesOf(text).flatMap((line, index) =>
    /^\s*(class\b|def\b|async def\b|@)/.test(line) ? [numberedLine(index + 1, line)] : [],
  );
  return clipChars(lines.join('\n'), LONGEST);
}

/** A Python text without long bodies of functions and long docstrings of classes, as R2E-Gym shows it; indentation decides. */
export function skeleton(text: string, longest = LONGEST): string {
  const lines = linesOf(text);
  const shown: string[] = [];
  let at = 0;
  const showUpTo = (end: number): void => {
    for (; at < end; at += 1) shown.push(numberedLine(at + 1, lines[at] ?? ''));
  };
  while (at < lines.length) {
    const [, indent = '', word] = /^(\s*)(?:async\s+)?(def|class)\b/.exec(lines[at] ?? '') ?? [];
    showUpTo(word === undefined ? at + 1 : headerEnd(lines, at, indent.length));
    if (word === undefined) continue;
    const [first, end, least] =
      word === 'def'
        ? [at, blockEnd(lines, at, indent.length), 4]
        : [at + 1, docstringEnd(lines, at, indent.length), 3];
    if (end - first < least) continue;
    showUpTo(first);
    shown.push(numberedLine(first + 1, `... eliding lines ${first + 1}-${end} ...`));
    at = end;
  }
  return clipChars(shown.join('\n'), longest);
}

/** Index of the line after a header, which may have several lines, the last of which ends in a colon. */
function headerEnd(lines: readonly string[], start: number, indent: number): number {
  for (let at = start; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    // As a header does that has its body on the same line.
    if (at > start && !isDeeper(line, indent) && !/^\s*[)\]]/.test(line)) return at;
    if (/:\s*(#[^]*)?$/.test(line)) return at + 1;
  }
  return lines.length;
}

/** Index of the line after a block, in which comments may be indented less. */
function blockEnd(lines: readonly string[], start: number, indent: number): number {
  let end = start;
  for (let at = start; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (isDeeper(line, indent)) end = at + 1;
    else if (!/^\s*(#|$)/.test(line)) break;
  }
  return end;
}

/** Index of the last line of the docstring that begins at a line; that line if there is none. */
function docstringEnd(lines: readonly string[], start: number, indent: number): number {
  const first = lines[start] ?? '';
  const quote = /^\s*[rRuU]?("{3}|'{3})/.exec(first)?.[1];
  if (quote === undefined || !isDeeper(first, indent) || first.split(quote).length > 2) return start;
  for (let at = start + 1; at < lines.length; at += 1) if (lines[at]?.includes(quote) === true) return at;
  return start;
}

function isDeeper(line: string, indent: number): boolean {
  return line.search(/\S/) > indent;
}

/** Lists two levels by globbing only; names stay data. */
const LIST = String.raw`
cd "$1" || exit 1
for e in *; do
  [ -e "$e" ] || [ -L "$e" ] || continue
  if [ -d "$e" ]; then
    printf '%s/\n' "$e"
    [ -L "$e" ] || for f in "$e"/*; do
      [ -e "$f" ] || [ -L "$f" ] || continue
      if [ -d "$f" ]; then printf '%s/\n' "$f"; else printf '%s\n' "$f"; fi
    done
  else printf '%s\n' "$e"; fi
done`;
const MOST_ENTRIES = 400;

/** @throws what the session throws */
export async function view(
  path: string,
  edit: FileEdit,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const loaded = await loadFile(path, workspace, signal);
  switch (loaded.kind) {
    case 'missing':
      return told(`${path} does not exist.`);
    case 'unfit':
      return told(loaded.problem);
    case 'directory':
      return told(await list(path, workspace, signal));
    case 'text':
      return told(viewText(path, loaded.file.text, edit, workspace));
  }
}

function viewText(path: string, text: string, { view_range: range, concise }: FileEdit, workspace: Workspace): string {
  const count = countLines(text);
  const longest = longestIn(workspace);
  if (range != null) {
    const [first, last] = range;
    const end = last === -1 ? count : last;
    if (first < 1 || end < first || first > count) {
      return `view_range [${first}, ${last}] is not within lines 1 to ${count} of ${path}.`;
    }
    return `Lines ${first} to ${Math.min(end, count)} of ${count} of ${path}:\n${numbered(text, first, end, longest)}`;
  }
  const lines = counted(count, 'line');
  if (path.endsWith('.py') && (concise === true || count > mostLinesIn(workspace))) {
    const [what, shown] = condensed(text, workspace);
    return `${what} of ${path} (${lines}); use view_range to see more:\n${shown}`;
  }
  return count === 0 ? `${path} is empty.` : `${path} (${lines}):\n${numbered(text, 1, count, longest)}`;
}

function condensed(text: string, workspace: Workspace): readonly [what: string, shown: string] {
  return workspace.asR2e
    ? ['Skeleton', skeleton(text, longestIn(workspace))]
    : ['Classes and functions', outline(text)];
}

async function list(path: string, workspace: Workspace, signal: AbortSignal): Promise<string> {
  const outcome = await workspace.run(['/bin/sh', '-c', LIST, 'sh', path], {}, signal);
  const entries = outcome.stdout.split('\n').filter((entry) => entry !== '');
  if (entries.length === 0) return `${path} is empty, except for any hidden entries.`;
  const shown = clipChars(entries.slice(0, MOST_ENTRIES).join('\n'), longestIn(workspace));
  const more = entries.length > MOST_ENTRIES ? `\n[… ${entries.length - MOST_ENTRIES} more …]` : '';
  return `${path}, two levels deep, without hidden entries:\n${shown}${more}`;
}
