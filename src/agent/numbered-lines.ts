import { clipChars } from './observation.js';

const LONGEST = 24_000;

/** Lines `first` to `last` of a text, from 1, with their numbers as `cat -n` writes them. */
export function numbered(text: string, first: number, last: number): string {
  const lines = linesOf(text).slice(first - 1, last);
  return clipChars(lines.map((line, index) => `${String(first + index).padStart(6)}\t${line}`).join('\n'), LONGEST);
}

/** How many lines a text has: what stands behind the last line end counts when it is not empty. */
export function countLines(text: string): number {
  return linesOf(text).length;
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
}

/** Lines of a Python text that open a class or a function, and their decorators, with their numbers. */
export function outline(text: string): string {
  const lines = linesOf(text).flatMap((line, index) =>
    /^\s*(class\b|def\b|async def\b|@)/.test(line) ? [`${String(index + 1).padStart(6)}\t${line}`] : [],
  );
  return clipChars(lines.join('\n'), LONGEST);
}
