import { options, type VNode } from 'preact';
import { visible as spellOut } from '../core/visible.js';

/** Colours and cursor moves of a terminal: they say nothing on a page. Other escapes stay, spelled out. */
const ANSI = /\u001b\[[0-?]*[ -/]*[@-~]/g;

/** Text from anywhere as a person can see all of it. */
export function visible(text: string): string {
  return spellOut(text.replace(ANSI, ''));
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
