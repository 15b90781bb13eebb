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

function spelled(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return '␡';
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}
