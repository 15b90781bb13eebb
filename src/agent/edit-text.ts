/** A changed text and the line, from 1, where the change begins; or why there is none. */
export type Edit = { readonly text: string; readonly line: number } | { readonly problem: string };

/** Replaces the only occurrence of `old`. Blanks count. */
export function replaceOnce(text: string, old: string, replacement: string): Edit {
  if (old === '') return { problem: 'old_str is empty. To add text, use insert.' };
  if (old === replacement) return { problem: 'old_str and new_str are the same.' };
  const at = text.indexOf(old);
  if (at === -1) return { problem: `old_str does not occur in the file.${nearMiss(text, old)}` };
  if (text.includes(old, at + 1)) {
    const lines = linesOf(text, old);
    return {
      problem: `old_str occurs ${lines.length} times, in lines ${lines.slice(0, 20).join(', ')}. Add lines around it until it occurs once.`,
    };
  }
  return { text: text.slice(0, at) + replacement + text.slice(at + old.length), line: lineAt(text, at) };
}

/** Puts `added` behind line `after` (0 = before the first). */
export function insertLines(text: string, added: string, after: number): Edit {
  const lines = text === '' ? [] : text.split('\n');
  // The text behind the last line end is no line.
  const count = lines.at(-1) === '' ? lines.length - 1 : lines.length;
  if (after < 0 || after > count) return { problem: `insert_line must be 0 to ${count}, the number of lines.` };
  const head = lines
    .slice(0, after)
    .map((line) => `${line}\n`)
    .join('');
  const tail = lines.slice(after).join('\n');
  const block = added.endsWith('\n') || tail === '' ? added : `${added}\n`;
  return { text: head + block + tail, line: after + 1 };
}

function linesOf(text: string, part: string): number[] {
  const found: number[] = [];
  for (let at = text.indexOf(part); at !== -1 && found.length < 1_000; at = text.indexOf(part, at + 1)) {
    found.push(lineAt(text, at));
  }
  return found;
}

function lineAt(text: string, at: number): number {
  let line = 1;
  for (let next = text.indexOf('\n'); next !== -1 && next < at; next = text.indexOf('\n', next + 1)) line += 1;
  return line;
}

/** The commonest mistake is in the blanks; the model is told where, not given the benefit of a doubt. */
function nearMiss(text: string, old: string): string {
  const wanted = old.trim().split('\n').map(squeeze);
  if (wanted.join('') === '') return '';
  const lines = text.split('\n').map(squeeze);
  const near = lines.findIndex((_, index) => wanted.every((line, offset) => lines[index + offset] === line));
  return near === -1
    ? ' View the file and copy the lines as they are.'
    : ` Lines ${near + 1} to ${near + wanted.length} differ from it in blanks alone: copy them as they are.`;
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
