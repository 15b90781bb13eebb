/**
 * A flat Python list as `str()` or `repr()` writes it: numbers, True, False, None, nan, inf and quoted strings.
 * `undefined` when the text is something else.
 */
export function parsePythonList(text: string): (number | boolean | string | null)[] | undefined {
  const body = /^\s*[[(]([\s\S]*?),?\s*[\])]\s*$/.exec(text)?.[1];
  if (body === undefined) return undefined;
  if (body.trim() === '') return [];
  const items: (number | boolean | string | null)[] = [];
  const token = /\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^\s,'"[\](){}]+))\s*(,|$)/y;
  while (token.lastIndex < body.length) {
    const match = token.exec(body);
    if (match === null) return undefined;
    const [, single, double, bare] = match;
    const item = bare === undefined ? unescape(single ?? double ?? '') : word(bare);
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}

const WORDS = new Map<string, number | boolean | null>([
  ['True', true],
  ['False', false],
  ['None', null],
  ['null', null],
  ['nan', NaN],
  ['inf', Infinity],
  ['-inf', -Infinity],
]);

function word(bare: string): number | boolean | null | undefined {
  const known = WORDS.get(bare);
  if (known !== undefined) return known;
  return /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(bare) ? Number(bare) : undefined;
}

function unescape(text: string): string {
  return text.replace(/\\(.)/g, '$1');
}
