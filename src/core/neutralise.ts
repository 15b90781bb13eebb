import { visible } from './visible.js';

/**
 * Marks and tags a judge, or its server, could take for ours, with what is written instead: close, visible, inert. Each
 * pattern takes linear time on any text.
 */
const LOOK_ALIKES: readonly (readonly [RegExp, (match: string) => string])[] = [
  // === END …, === INTERACTION LOG …, === FINAL PATCH …, === ATTEMPT A …, and the others of prompts/
  [
    /(?<![=＝])[=＝]{2,}(?![=＝])(?=\s*(?:BEGIN|END|INTERACTION|FINAL|ISSUE|ATTEMPT|SOURCE|TEST RESULTS|SUMMARY|OUTPUT|PATCH [AB]|PROBLEM)\b)/gi,
    (match) => '≡'.repeat(match.length),
  ],
  // [PATCH], [ / STEP ]; lower case only when closing or alone on its line: `rows[step]` is code.
  [/[[［](?=\s*(?:[/／]\s*)?(?:SYSTEM|USER|ASSISTANT|STEP|PATCH|INST)\s*[\]］])/g, () => '⟦'],
  [/[[［](?=\s*[/／]\s*(?:system|user|assistant|step|patch|inst)\s*[\]］])/gi, () => '⟦'],
  [/[[［](?<=^[ \t+-]*.)(?=\s*(?:system|user|assistant|step|patch|inst)\s*[\]］][ \t]*$)/gim, () => '⟦'],
  [/[<＜](?=\s*(?:[/／]\s*)?(?:judge?ment|score|better)\s*[>＞])/gi, () => '‹'],
  [/[<＜](?=\s*(?:[/／]\s*)?judge?ment\b)/gi, () => '‹'],
  // Words of chat templates: servers turn them into control tokens wherever they stand.
  [/[<＜](?=[|｜][^\s<>]{1,60}[|｜][>＞])/g, () => '‹'],
  [/[<＜](?=\s*(?:[/／]\s*)?(?:s|think|bos|eos|start_of_turn|end_of_turn)\s*[>＞])/gi, () => '‹'],
  [
    /[<＜](?=\s*(?:[/／]\s*)?(?:tool_(?:calls?|response)|sop|eop|end_of_utterance|seed:\w{1,40}|(?:unused|extra_id_)\d{1,4}|reasons|steps)\s*[>＞])/gi,
    () => '‹',
  ],
  [/[<＜](?=[<＜]\s*(?:[/／]\s*)?SYS\s*[>＞])/gi, () => '‹'],
  [
    /[[［](?=\s*(?:[/／]\s*)?(?:SYSTEM_PROMPT|TOOL_\w{1,40}|AVAILABLE_TOOLS|THINK|MODEL_SETTINGS|g?MASK|PATCH [AB])\s*[\]］])/g,
    () => '⟦',
  ],
  [/\](?=~[a-z!]{1,10}(?:\[|\]))/g, () => '⟧'],
  [/\[(?=e~\[)/g, () => '⟦'],
];

const LONE_SURROGATE = /\p{Surrogate}/gu;

/**
 * Text from outside, safe to stand between the prompt's marks: what looks like one of them is rewritten visibly, and
 * what cannot be seen is spelled out. Everything else stays as it is.
 */
export function neutralise(text: string): string {
  const seen = visible(text.replace(LONE_SURROGATE, '\uFFFD'));
  return LOOK_ALIKES.reduce((safe, [pattern, replacement]) => safe.replace(pattern, replacement), seen);
}
