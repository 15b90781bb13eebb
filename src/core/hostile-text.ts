/**
 * Control characters, and characters that are invisible or change how others are displayed: zero-width, bidirectional,
 * filler, line-separator and tag characters. Tab, line feed and variation selectors are excluded.
 */
const UNSEEN = /(?![\t\n\uFE00-\uFE0F])[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\uFFF9-\uFFFB]/gu;

/** Makes untrusted text fully visible to a person: characters that hide, reorder or disguise text are spelled out. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, spelled);
}

/** The same, as one line for a terminal or a table. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll('\n', '␊');
}

/** The same JSON, with those characters escaped. */
export function visibleJson(value: unknown, indent?: number): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value, null, indent).replace(UNSEEN, (found) => found.split('').map(escaped).join(''));
}

const known = new Map<string, string>();

/** Cached per character: a text may hold a million of them, and is rendered for every prompt. */
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

/** The first few names, and how many more there are. */
export function listed(names: readonly string[]): string {
  return `${names.slice(0, NAMED).join(', ')}${names.length > NAMED ? `, and ${names.length - NAMED} more` : ''}`;
}

/**
 * Markers and tags that a judge or its server could mistake for those of the prompt, as they are in folded text, each with its
 * replacement: similar, visible, inert, of the same length. Each pattern takes linear time on any text.
 */
const LOOK_ALIKES: readonly (readonly [RegExp, (match: string) => string])[] = [
  // === END …, === INTERACTION LOG …, === FINAL PATCH …, === ATTEMPT A …, and the other markers of prompts/
  [
    /(?<!=)={2,}(?!=)(?=\s*(?:BEGIN|END|INTERACTION|FINAL|ISSUE|ATTEMPT|SOURCE|TEST RESULTS|SUMMARY|OUTPUT|PATCH [AB]|PROBLEM)\b)/gi,
    (match) => '≡'.repeat(match.length),
  ],
  // [PATCH], [ / STEP ]; in lower case only if closing or the only content of its line: `rows[step]` is code.
  [/\[(?=\s*(?:\/\s*)?(?:SYSTEM|USER|ASSISTANT|STEP|PATCH|INST)\s*\])/g, () => '⟦'],
  [/\[(?=\s*\/\s*(?:system|user|assistant|step|patch|inst)\s*\])/gi, () => '⟦'],
  [/\[(?<=^[ \t+-]*.)(?=\s*(?:system|user|assistant|step|patch|inst)\s*\][ \t]*$)/gim, () => '⟦'],
  [/<(?=\s*(?:\/\s*)?(?:judge?ment|score|better)\s*>)/gi, () => '‹'],
  [/<(?=\s*(?:\/\s*)?judge?ment\b)/gi, () => '‹'],
  // Tokens of chat templates: servers turn them into control tokens wherever they occur. Most families, Cohere's and Ling's too:
  [/<(?=\|[^\s<>]{1,60}\|>)/g, () => '‹'],
  // Gemma 4's have a bar on one side; EXAONE's have brackets.
  [/<(?=(?:\|\w{1,60}|\w{1,60}\|)>)/g, () => '‹'],
  [/\[(?=\|\w{3,40}\|\])/g, () => '⟦'],
  [/<(?=\s*(?:\/\s*)?(?:s|think|thinking|thought|bos|eos|eoh|eoa|role|start_of_turn|end_of_turn)\s*>)/gi, () => '‹'],
  // By number: Gemma, T5 and Nemotron-4, Nemotron, Baichuan 2. By prefix or suffix: Seed, LongCat, Cohere, MiniMax, Baichuan M1.
  [/<(?=\s*(?:unused|(?:extra_id|special|reserved(?:_special)?(?:_token)?)_)\d{1,4}\s*>)/gi, () => '‹'],
  [
    /<(?=\s*(?:\/\s*)?(?:(?:seed:|longcat_)\w{1,40}|\w{1,40}_token|(?:beginning|end)_of_(?:sentence|text))\s*>)/gi,
    () => '‹',
  ],
  [
    /<(?=\s*(?:\/\s*)?(?:tool_?(?:calls?|response)|available_tools|sop|eop|end_of_utterance|reasons|steps)\s*>)/gi,
    () => '‹',
  ],
  [/<(?=(?:B_(?:U?SYS|FUNC|CODE|APE)|[CH]_[AQ])>)/g, () => '‹'],
  [/<(?=<\s*(?:\/\s*)?SYS\s*>)/gi, () => '‹'],
  [
    /\[(?=\s*(?:\/\s*)?(?:SYSTEM_PROMPT|TOOL_\w{1,40}|AVAILABLE_TOOLS|THINK|MODEL_SETTINGS|g?MASK|PATCH [AB]|BOS|EOS|EOT|UNUSED_TOKEN_\d{1,4})\s*\])/g,
    () => '⟦',
  ],
  // LongCat's first template.
  [/\[(?=Round \d{1,4}\]\s*(?:USER|ASSISTANT)\b)/gi, () => '⟦'],
  [/\](?=~[a-z!]{1,10}(?:\[|\]))/g, () => '⟧'],
  [/\[(?=e~\[)/g, () => '⟦'],
];

/** Characters of other scripts that look like those of markers; NFKC leaves them as they are. */
const HOMOGLYPHS: Readonly<Record<string, string>> = {
  '<': '‹〈⟨❬❮˂≺',
  '>': '›〉⟩❭❯˃≻',
  '[': '⟦【〔',
  ']': '⟧】〕',
  '|': '│┃∣ǀ❘⏐¦',
  '/': '∕⁄⧸╱',
  '=': '═꞊',
  _: 'ˍ▁',
  ...Object.fromEntries(Array.from('ABCEHIJKMNOPSTXYZ', (letter, at) => [letter, capitalsLike(at)])),
  ...Object.fromEntries(Array.from('aceijopsxy', (letter, at) => [letter, 'асеіјорѕху'.charAt(at)])),
};

function capitalsLike(at: number): string {
  return 'АВСЕНІЈКМ ОРЅТХУ '.charAt(at) + 'ΑΒ ΕΗΙ ΚΜΝΟΡ ΤΧΥΖ'.charAt(at);
}

const folds = new Map(
  Object.entries(HOMOGLYPHS).flatMap(([plain, others]) =>
    Array.from(others.trim(), (other) => [other, plain] as const),
  ),
);

/** The ASCII character that one looks like, or itself. Cached, as a text may hold a million of them. */
function plainOf(character: string): string {
  const compatible = folds.get(character) ?? character.normalize('NFKC');
  const plain = /^[\x20-\x7e]$/.test(compatible) ? compatible : character;
  folds.set(character, plain);
  return plain;
}

/** All but ASCII, and the letters of Chinese, Japanese and Korean, of which a text may consist. */
const FOLDABLE = /[^\x00-\x7f\u3041-\u9fff\uac00-\ud7a3]/gu;

/** A text for matching only; `shorter` are the offsets in it of characters that took two units before. */
function fold(text: string): { readonly folded: string; readonly shorter: readonly number[] } {
  const shorter: number[] = [];
  const folded = text.replace(FOLDABLE, (character, at: number) => {
    const plain = plainOf(character);
    if (plain.length < character.length) shorter.push(at - shorter.length);
    return plain;
  });
  return { folded, shorter };
}

const LONE_SURROGATE = /\p{Surrogate}/gu;

/**
 * Makes untrusted text safe between the prompt's markers: look-alikes are rewritten visibly, and invisible characters
 * are spelled out. Everything else is unchanged. Markers are found in any letters that look like theirs: full-width,
 * mathematical, of other scripts.
 */
export function neutralise(text: string): string {
  const seen = visible(text.replace(LONE_SURROGATE, '\uFFFD'));
  const { folded, shorter } = fold(seen);
  const safe = LOOK_ALIKES.reduce((before, [pattern, replacement]) => before.replace(pattern, replacement), folded);
  if (safe === folded) return seen;
  return folded === seen ? safe : withChanges(seen, { folded, safe, shorter });
}

/** The text with those characters that differ between its folded and its safe form. */
function withChanges(
  seen: string,
  { folded, safe, shorter }: { readonly folded: string; readonly safe: string; readonly shorter: readonly number[] },
): string {
  let [changed, from, passed] = ['', 0, 0];
  for (let at = 0; at < folded.length; at += 1) {
    while (passed < shorter.length && (shorter[passed] ?? 0) < at) passed += 1;
    if (folded.charCodeAt(at) === safe.charCodeAt(at)) continue;
    changed += seen.slice(from, at + passed) + safe.charAt(at);
    from = at + passed + (shorter[passed] === at ? 2 : 1);
  }
  return changed + seen.slice(from);
}

/** Removes half a surrogate pair, as cutting leaves it, at either end. */
export function wholeCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
}

/** Quotes any text as one word of a POSIX shell. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * The first `cap` bytes of a stream; the rest is counted and dropped, so that memory use is bounded. They are in one
 * growing buffer: a command may write byte by byte, and an object for each byte would take a hundred times its memory.
 */
export class CappedBytes {
  #bytes = new Uint8Array();
  #kept = 0;
  #seen = 0;

  constructor(readonly cap: number) {}

  push(chunk: Uint8Array): void {
    this.#seen += chunk.length;
    const kept = Math.min(this.cap, this.#kept + chunk.length);
    if (kept > this.#bytes.length) {
      const larger = new Uint8Array(Math.min(this.cap, Math.max(kept, 2 * this.#bytes.length)));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(chunk.subarray(0, kept - this.#kept), this.#kept);
    this.#kept = kept;
  }

  get truncated(): boolean {
    return this.#seen > this.cap;
  }

  bytes(): Buffer {
    return Buffer.from(this.#bytes.buffer, 0, this.#kept);
  }
}
