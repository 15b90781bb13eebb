import { encodeFile, type Loaded, loadFile, longestIn, numbered, type TextFile } from './load-file.js';
import { told, type ToolOutcome } from './tool-outcome.js';
import type { Workspace } from './workspace.js';

/** Lines shown around a change. */
const CONTEXT = 4;
/** Follows links, and keeps the mode of the file. */
const WRITE = 'cat >"$1"';
const EXISTS = 17;
/** Creates parent folders; a dangling link counts as an existing file. */
const CREATE = `[ -e "$1" ] || [ -L "$1" ] && exit ${EXISTS}; d=\${1%/*}; [ -d "\${d:-/}" ] || mkdir -p -- "$d" && cat >"$1"`;

/** @throws what the session throws */
export async function createFile(
  path: string,
  text: string,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const outcome = await workspace.run(['/bin/sh', '-c', CREATE, 'sh', path], { stdin: text }, signal);
  if (outcome.kind === 'exited' && outcome.exitCode === EXISTS) {
    return told(`${path} already exists. Use str_replace or insert to change a file.`);
  }
  const failure = ended(outcome);
  if (failure !== null) return told(`${path} was not created: ${failure}`);
  remember(workspace, path, null);
  return changed(`The file ${path} was created:\n${numbered(text, 1, Infinity, longestIn(workspace))}`);
}

/** @throws what the session throws */
export async function replaceInFile(
  path: string,
  { old, replacement }: { old: string; replacement: string },
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  return change(path, workspace, signal, ({ text, endings }) => {
    // A model writes line ends as it is shown them: without the file's carriage returns.
    const asInFile = endings === 'crlf' && !old.includes('\r') ? withCarriageReturns : (part: string): string => part;
    return replaceOnce(text, asInFile(old), asInFile(replacement));
  });
}

/** @throws what the session throws */
export async function insertIntoFile(
  path: string,
  { line, added }: { line: number; added: string },
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  return change(path, workspace, signal, ({ text, endings }) =>
    insertLines(text, endings === 'crlf' && !added.includes('\r') ? withCarriageReturns(added) : added, line),
  );
}

/** @throws what the session throws */
export async function undoEdit(path: string, workspace: Workspace, signal: AbortSignal): Promise<ToolOutcome> {
  const loaded = await loadFile(path, workspace, signal);
  const real = loaded.kind === 'text' ? loaded.path : path;
  const history = workspace.undo.get(real) ?? [];
  const earlier = history.at(-1);
  if (earlier === undefined) return told(`file_editor has not changed ${path}: there is nothing to undo.`);
  const failure =
    earlier === null ? await remove(real, workspace, signal) : await write(real, earlier, workspace, signal);
  if (failure !== null) return told(`The last change to ${path} was not undone: ${failure}`);
  history.pop();
  return changed(earlier === null ? `${path} was removed again.` : `The last change to ${path} was undone.`);
}

async function change(
  path: string,
  workspace: Workspace,
  signal: AbortSignal,
  edit: (file: TextFile) => Edit,
): Promise<ToolOutcome> {
  const loaded = await loadFile(path, workspace, signal);
  if (loaded.kind !== 'text') return told(unfit(path, loaded));
  const result = edit(loaded.file);
  if ('problem' in result) return told(`Nothing was changed: ${result.problem}`);
  const bytes = encodeFile(result.text, loaded.file.encoding);
  if (bytes === null)
    return told(
      'Nothing was changed: the file is encoded in Latin-1, and new_str contains characters that Latin-1 does not have.',
    );
  const failure = await write(loaded.path, bytes, workspace, signal);
  if (failure !== null) return told(`${path} was not changed: ${failure}`);
  remember(workspace, loaded.path, loaded.bytes);
  return changed(`The file ${path} was changed. Around the change:\n${excerpt(result, workspace)}`);
}

function unfit(path: string, loaded: Exclude<Loaded, { kind: 'text' }>): string {
  if (loaded.kind === 'unfit') return loaded.problem;
  return loaded.kind === 'directory' ? `${path} is a directory.` : `${path} does not exist.`;
}

function excerpt({ text, line, lines }: { text: string; line: number; lines: number }, workspace: Workspace): string {
  return numbered(text, Math.max(1, line - CONTEXT), line + lines - 1 + CONTEXT, longestIn(workspace));
}

async function write(
  path: string,
  bytes: Uint8Array,
  workspace: Workspace,
  signal: AbortSignal,
): Promise<string | null> {
  return ended(await workspace.run(['/bin/sh', '-c', WRITE, 'sh', path], { stdin: bytes }, signal));
}

async function remove(path: string, workspace: Workspace, signal: AbortSignal): Promise<string | null> {
  return ended(await workspace.run(['rm', '-f', '--', path], {}, signal));
}

function ended(outcome: Awaited<ReturnType<Workspace['run']>>): string | null {
  if (outcome.kind !== 'exited') return `the command ended as ${outcome.kind}.`;
  return outcome.exitCode === 0 ? null : outcome.stderr.trim().slice(0, 300);
}

function remember(workspace: Workspace, path: string, bytes: Uint8Array | null): void {
  const history = workspace.undo.get(path) ?? [];
  workspace.undo.set(path, [...history, bytes]);
}

function changed(text: string): ToolOutcome {
  return { text, repeat: true };
}

function withCarriageReturns(text: string): string {
  return text.replaceAll('\n', '\r\n');
}

/** The changed text, the first changed line (from 1) and the number of changed lines; or why the edit is impossible. */
export type Edit =
  { readonly text: string; readonly line: number; readonly lines: number } | { readonly problem: string };

/** Replaces the only occurrence of `old`. Whitespace counts. */
export function replaceOnce(text: string, old: string, replacement: string): Edit {
  if (old === '') return { problem: 'old_str is empty. To add text, use insert.' };
  if (old === replacement) return { problem: 'old_str and new_str are the same.' };
  const at = text.indexOf(old);
  if (at === -1) return { problem: `old_str does not occur in the file.${nearMiss(text, old)}` };
  if (text.includes(old, at + 1)) {
    const lines = linesOf(text, old);
    return {
      problem: `old_str occurs ${lines.length} times, on lines ${lines.slice(0, 20).join(', ')}. Add lines around it until it occurs once.`,
    };
  }
  const changed = text.slice(0, at) + replacement + text.slice(at + old.length);
  return { text: changed, line: lineAt(text, at), lines: replacement.split('\n').length };
}

/** Inserts `added` after line `after` (0 = before the first). */
export function insertLines(text: string, added: string, after: number): Edit {
  const lines = text === '' ? [] : text.split('\n');
  // A trailing line end does not start another line.
  const count = lines.at(-1) === '' ? lines.length - 1 : lines.length;
  if (after < 0 || after > count) return { problem: `insert_line must be 0 to ${count}, the number of lines.` };
  const head = lines
    .slice(0, after)
    .map((line) => `${line}\n`)
    .join('');
  const tail = lines.slice(after).join('\n');
  const block = added.endsWith('\n') || tail === '' ? added : `${added}\n`;
  return { text: head + block + tail, line: after + 1, lines: block.replace(/\n$/, '').split('\n').length };
}

function linesOf(text: string, part: string): number[] {
  const found: number[] = [];
  let [line, from] = [1, 0];
  for (let at = text.indexOf(part); at !== -1 && found.length < 1_000; at = text.indexOf(part, at + 1)) {
    line += lineAt(text.slice(from, at), Infinity) - 1;
    found.push(line);
    from = at;
  }
  return found;
}

function lineAt(text: string, at: number): number {
  let line = 1;
  for (let next = text.indexOf('\n'); next !== -1 && next < at; next = text.indexOf('\n', next + 1)) line += 1;
  return line;
}

/** Lines that a mistake is sought in, times those that it has. */
const MOST_COMPARED = 2_000_000;

/** The commonest mistake is in the whitespace; the model is told where, not given the benefit of a doubt. */
function nearMiss(text: string, old: string): string {
  const wanted = old.trim().split('\n').map(squeeze);
  if (wanted.join('') === '') return '';
  const lines = text.split('\n').map(squeeze);
  if (lines.length * wanted.length > MOST_COMPARED) return '';
  const near = lines.findIndex((_, index) => wanted.every((line, offset) => lines[index + offset] === line));
  return near === -1
    ? ' View the file and copy the lines exactly.'
    : ` Lines ${near + 1} to ${near + wanted.length} differ from it only in whitespace: copy them exactly.`;
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
