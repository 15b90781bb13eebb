import { options, type VNode } from 'preact';

/** Colours and cursor moves of a terminal: they say nothing on a page. Other escapes stay, spelled out. */
const ANSI = /\u001b\[[0-?]*[ -/]*[@-~]/g;
const LINE_END = /\r\n/g;
/** Control, direction-changing, zero-width, line-separating and tag characters; not tab and line feed. */
const UNSEEN =
  /[\0-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const ANY = new RegExp(`[\\r]|${UNSEEN.source}`, 'u');

/** Text from anywhere as a person can see all of it: what would hide, reorder or disguise is spelled out. */
export function visible(text: string): string {
  if (!ANY.test(text)) return text;
  return text.replace(ANSI, '').replace(LINE_END, '\n').replace(UNSEEN, spelled);
}

function spelled(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return '␡';
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
}

const SHOWN = ['title', 'aria-label', 'placeholder', 'alt', 'label'];

/** From now on every text and every spoken label that Preact puts on the page is made visible first. */
export function makeTextSafe(): void {
  const before = options.vnode?.bind(options);
  options.vnode = (vnode: VNode): void => {
    const props = vnode.props as Record<string, unknown>;
    if (props.children !== undefined) props.children = safe(props.children);
    for (const name of SHOWN) if (typeof props[name] === 'string') props[name] = visible(props[name]);
    before?.(vnode);
  };
}

function safe(child: unknown): unknown {
  if (typeof child === 'string') return visible(child);
  return Array.isArray(child) ? child.map(safe) : child;
}
