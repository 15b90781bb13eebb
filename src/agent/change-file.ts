import { insertLines, replaceOnce, type Edit } from './edit-text.js';
import { loadFile, type Loaded } from './load-file.js';
import { numbered } from './numbered-lines.js';
import { encodeFile, type TextFile } from './text-file.js';
import { told, type ToolOutcome } from './tool-outcome.js';
import type { Workspace } from './workspace.js';

/** Lines shown around a change. */
const CONTEXT = 4;
/** Writes through links and keeps the mode of the file. */
const WRITE = 'cat >"$1"';
const EXISTS = 17;
/** Makes parents; a dangling link counts as a file that is there. */
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
  return changed(`The file ${path} was created:\n${numbered(text, 1, Infinity)}`);
}

/** @throws what the session throws */
export async function replaceInFile(
  path: string,
  { old, replacement }: { old: string; replacement: string },
  workspace: Workspace,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  return change(path, workspace, signal, ({ text, endings }) => {
    // A model writes line ends as it reads them: without the carriage returns of the file.
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
  if (failure !== null) return told(`The last change of ${path} was not undone: ${failure}`);
  history.pop();
  return changed(earlier === null ? `${path} was removed again.` : `The last change of ${path} was undone.`);
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
    return told('Nothing was changed: the file is in Latin-1, and new_str holds characters that it has not.');
  const failure = await write(loaded.path, bytes, workspace, signal);
  if (failure !== null) return told(`${path} was not changed: ${failure}`);
  remember(workspace, loaded.path, loaded.bytes);
  return changed(`The file ${path} was changed. Around the change:\n${excerpt(loaded.file.text, result)}`);
}

function unfit(path: string, loaded: Exclude<Loaded, { kind: 'text' }>): string {
  if (loaded.kind === 'unfit') return loaded.problem;
  return loaded.kind === 'directory' ? `${path} is a directory.` : `There is no ${path}.`;
}

function excerpt(before: string, { text, line }: { text: string; line: number }): string {
  const grown = text.split('\n').length - before.split('\n').length;
  const last = line + Math.max(0, grown) + CONTEXT;
  return numbered(text, Math.max(1, line - CONTEXT), last);
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
  if (outcome.kind !== 'exited') return `it ${outcome.kind.replaceAll('-', ' ')}.`;
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
