/**
 * Control characters, and what is not shown or changes how the rest is: zero-width, direction-changing, filling,
 * line-separating and tag characters. Not tab, line feed and the selectors of a letter's variant.
 */
const UNSEEN = /(?![\t\n\uFE00-\uFE0F])[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\uFFF9-\uFFFB]/gu;

/** Text from anywhere as a person can see all of it: what would hide, reorder or disguise is spelled out. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, spelled);
}

/** The same for one line of a terminal or a table. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll('\n', '␊');
}

const known = new Map<string, string>();

/** A million of them take a moment each time a prompt is made: each is spelled once. */
function spelled(character: string): string {
  const text = known.get(character) ?? spellingOf(character);
  known.set(character, text);
  return text;
}

function spellingOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return '␡';
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

const NAMED = 5;

/** The first few of some names, and how many more there are. */
export function listed(names: readonly string[]): string {
  return `${names.slice(0, NAMED).join(', ')}${names.length > NAMED ? `, and ${names.length - NAMED} more` : ''}`;
}
