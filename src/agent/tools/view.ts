import type { FileEdit } from '../call-formats/action.js';
import { loadFile } from './load-file.js';
import { countLines, numbered, outline } from './load-file.js';
import { clipChars, counted } from './tool-outcome.js';
import { told, type ToolOutcome } from './tool-outcome.js';
import type { Workspace } from './workspace.js';

/** Two levels, by globbing alone; names stay data. */
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
const LONGEST = 24_000;

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
      return told(`There is no ${path}.`);
    case 'unfit':
      return told(loaded.problem);
    case 'directory':
      return told(await list(path, workspace, signal));
    case 'text':
      return told(viewText(path, loaded.file.text, edit));
  }
}

function viewText(path: string, text: string, { view_range: range, concise }: FileEdit): string {
  const count = countLines(text);
  if (range != null) {
    const [first, last] = range;
    const end = last === -1 ? count : last;
    if (first < 1 || end < first || first > count) {
      return `view_range [${first}, ${last}] is not within lines 1 to ${count} of ${path}.`;
    }
    return `Lines ${first} to ${Math.min(end, count)} of ${count} of ${path}:\n${numbered(text, first, end)}`;
  }
  if (concise === true && path.endsWith('.py')) {
    return `Classes and functions of ${path} (${counted(count, 'line')}); view a view_range for more:\n${outline(text)}`;
  }
  return count === 0 ? `${path} is empty.` : `${path} (${counted(count, 'line')}):\n${numbered(text, 1, count)}`;
}

async function list(path: string, workspace: Workspace, signal: AbortSignal): Promise<string> {
  const outcome = await workspace.run(['/bin/sh', '-c', LIST, 'sh', path], {}, signal);
  const entries = outcome.stdout.split('\n').filter((entry) => entry !== '');
  if (entries.length === 0) return `${path} holds nothing but hidden entries, if any.`;
  const shown = clipChars(entries.slice(0, MOST_ENTRIES).join('\n'), LONGEST);
  const more = entries.length > MOST_ENTRIES ? `\n[… ${entries.length - MOST_ENTRIES} more …]` : '';
  return `${path}, two levels deep, hidden entries left out:\n${shown}${more}`;
}
