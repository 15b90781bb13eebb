import { z } from 'zod';

/** Far more than any request or record needs; parsing hundreds of thousands of levels blocks a process for seconds. */
const MAX_DEPTH = 100;

/** The error text for JSON that {@link isTooDeep}. */
export const TOO_DEEP = `is nested deeper than ${MAX_DEPTH} levels`;

/** What decides the cost of parsing a piece of JSON, besides its length. */
export interface JsonShape {
  /** Lists and objects still open at its end; the scan stops once they exceed the maximum. */
  readonly levels: number;
  /** Number of values, counting lists and objects too. */
  readonly values: number;
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** @param json in UTF-8, where no byte of a multi-byte character equals JSON punctuation */
export function shapeOf(json: Uint8Array): JsonShape {
  let [levels, values] = [0, 1];
  for (let at = 0; at < json.length && levels <= MAX_DEPTH; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at);
    else if (byte === COMMA) values += 1;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) [levels, values] = [levels + 1, values + 1];
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) levels -= 1;
  }
  return { levels, values };
}

export function isTooDeep({ levels }: Pick<JsonShape, 'levels'>): boolean {
  return levels > MAX_DEPTH;
}

/** @returns the offset of the closing quote, or the end of an unclosed string */
function endOfString(json: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < json.length && json[at] !== QUOTE) at += json[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** As {@link asJson}, but undefined too for what is too deep or holds more than `most` values. */
export function asSmallJson(text: string, most: number): unknown {
  const shape = shapeOf(Buffer.from(text));
  return isTooDeep(shape) || shape.values > most ? undefined : asJson(text);
}

/**
 * An array that is refused at its first wrong element: `z.array` collects the faults of all, gigabytes of a hostile one.
 * @param most elements; longer arrays are refused before any is read
 */
export function listOf<Element>(element: z.ZodType<Element>, most = Infinity): z.ZodType<Element[]> {
  const list = z.array(z.unknown()).refine(({ length }) => length <= most, { abort: true });
  return list.transform((values, context) => {
    const read: Element[] = [];
    for (const [index, value] of values.entries()) {
      const { data, success } = element.safeParse(value);
      if (success) read.push(data);
      else {
        context.addIssue({ code: 'custom', path: [index], message: 'is a wrong element' });
        return z.NEVER;
      }
    }
    return read;
  });
}

/** What a text says as JSON; undefined for one that is none. */
export function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Converts any value to text: parts of a message are joined, null becomes empty, other values are shown as JSON. */
export const Text = z
  .unknown()
  .optional()
  .transform((value): string => textOf(value));

const Part = z.object({ text: z.string() });

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (!Array.isArray(value)) return JSON.stringify(value);
  const parts = value.map((part) => Part.safeParse(part).data?.text ?? (typeof part === 'string' ? part : ''));
  return parts.filter((part) => part !== '').join('\n');
}
