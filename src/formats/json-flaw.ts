/** A line of a file and its number, from 1. */
export interface Line {
  readonly text: string;
  readonly line: number;
}

/** What a text says as JSON, or what is wrong with it. */
export type Parsed = { readonly value: unknown } | { readonly problem: string };

export function parseJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: (error as Error).message.slice(0, 200) };
  }
}

/** The value, or undefined when the text is no JSON. */
export function tryParse(text: string): unknown {
  const parsed = parseJson(text);
  return 'value' in parsed ? parsed.value : undefined;
}

export function parseError(text: string): string {
  const parsed = parseJson(text);
  return 'problem' in parsed ? parsed.problem : 'it ends too early';
}

/** The first line up to which a document cannot be the beginning of any, found by halving; or the last line. */
export function flawOf(lines: readonly Line[]): { problem: string; line: number | undefined } {
  const [first, second] = lines;
  const isStream = first?.text.startsWith('{') === true && second !== undefined && tryParse(second.text) !== undefined;
  if (isStream) return { problem: parseError(first.text), line: first.line };
  const upTo = (count: number): string =>
    lines
      .slice(0, count)
      .map(({ text }) => text)
      .join('\n');
  let [sound, flawed] = [0, lines.length];
  while (flawed - sound > 1) {
    const middle = (sound + flawed) >> 1;
    if (canGoOn(upTo(middle))) sound = middle;
    else flawed = middle;
  }
  return { problem: parseError(upTo(flawed)), line: lines[flawed - 1]?.line };
}

function canGoOn(text: string): boolean {
  if (tryParse(text) !== undefined) return true;
  const problem = parseError(text);
  return problem.startsWith('Unexpected end') || problem.includes(`at position ${text.length}`);
}
