import { useMemo } from 'preact/hooks';
import type { VNode } from 'preact';
import { type Block, blocksOf } from './blocks.js';

/** Longer texts are shown unformatted. */
const LONGEST = 100_000;

/** Renders external Markdown. The text becomes elements, never markup, and images are not loaded. */
export function Markdown({ text }: { readonly text: string }) {
  const blocks = useMemo(() => (text.length > LONGEST ? null : blocksOf(text)), [text]);
  if (blocks === null) return <pre class="text">{text}</pre>;
  return <div class="markdown">{blocks.map(blockOf)}</div>;
}

function blockOf(block: Block, key: number): VNode {
  switch (block.kind) {
    case 'heading':
      // Not h1 to h6, which belong to the page's own outline.
      return (
        <p key={key} class="md-heading">
          {spans(block.text)}
        </p>
      );
    case 'paragraph':
      return <p key={key}>{spans(block.text)}</p>;
    case 'code':
      return (
        <pre key={key} class="text">
          {block.text}
        </pre>
      );
    case 'rule':
      return <hr key={key} />;
    case 'quote':
      return <blockquote key={key}>{block.blocks.map(blockOf)}</blockquote>;
    case 'list':
      return listOf(block, key);
    case 'table':
      return tableOf(block, key);
  }
}

function listOf({ first, items }: Extract<Block, { kind: 'list' }>, key: number): VNode {
  const children = items.map((blocks, index) => <li key={index}>{blocks.map(blockOf)}</li>);
  return first === null ? (
    <ul key={key}>{children}</ul>
  ) : (
    <ol key={key} start={first}>
      {children}
    </ol>
  );
}

function tableOf({ head, rows }: Extract<Block, { kind: 'table' }>, key: number): VNode {
  return (
    <div key={key} class="scroll" tabIndex={0} role="region" aria-label="Table of the issue">
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              <th key={index} scope="col">
                {spans(cell)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {head.map((_, column) => (
                <td key={column}>{spans(row[column] ?? '')}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function spans(text: string): (VNode | string)[] {
  return spansOf(text).map(spanOf);
}

function spanOf(span: Span, key: number): VNode | string {
  if (typeof span === 'string') return span;
  if (span.kind === 'code') return <code key={key}>{span.text}</code>;
  const inner = span.spans.map(spanOf);
  if (span.kind === 'link') {
    return (
      <span key={key}>
        <a href={span.href} target="_blank" rel="noopener noreferrer" title={span.href}>
          {span.isImage && 'image: '}
          {inner}
        </a>
        <Host href={span.href} text={span.spans.length === 1 ? span.spans[0] : null} />
      </span>
    );
  }
  const Tag = span.kind;
  return <Tag key={key}>{inner}</Tag>;
}

/** The host of a link, unless its text is the address. */
function Host({ href, text }: { readonly href: string; readonly text: Span | null | undefined }) {
  return text === href ? null : <span class="quiet"> ({new URL(href).host})</span>;
}

/** Inline content: text, or an element with text in it. */
export type Span =
  | string
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'em' | 'del'; readonly spans: readonly Span[] }
  | { readonly kind: 'link'; readonly spans: readonly Span[]; readonly href: string; readonly isImage: boolean };

/** How far ahead a closing mark is searched, so that each character is read a bounded number of times. */
const AHEAD = 1_000;
const DEEPEST = 4;
const SPECIAL = /[\\`*_~[!<h]/g;
const URL_HERE = /^https?:\/\/[^\s<>"')\]]{1,800}[^\s<>"')\].,;:!?]/;
const WORD = /[\p{L}\p{N}_]/u;

interface Found {
  readonly span: Span;
  readonly length: number;
}

export function spansOf(text: string, depth = 0): readonly Span[] {
  const spans: Span[] = [];
  let plain = 0;
  SPECIAL.lastIndex = 0;
  for (let at = nextSpecial(text, 0); at !== -1;) {
    const found = depth > DEEPEST ? null : spanAt(text, at, depth);
    if (found === null) {
      at = nextSpecial(text, at + 1);
      continue;
    }
    if (at > plain) spans.push(text.slice(plain, at));
    spans.push(found.span);
    plain = at + found.length;
    at = nextSpecial(text, plain);
  }
  if (plain < text.length) spans.push(text.slice(plain));
  return spans;
}

function nextSpecial(text: string, from: number): number {
  SPECIAL.lastIndex = from;
  return SPECIAL.exec(text)?.index ?? -1;
}

/**
 * @param ahead the text from here on
 * @param before the character before it
 */
type Reader = (ahead: string, depth: number, before: string) => Found | null;

const READERS: Readonly<Record<string, Reader>> = {
  '\\': (ahead) => (/^\\[!-/:-@[-`{-~]/.test(ahead) ? { span: ahead[1] ?? '', length: 2 } : null),
  '`': codeAt,
  '*': (ahead, depth) =>
    ahead.startsWith('**') ? marked(ahead, '**', 'strong', depth) : marked(ahead, '*', 'em', depth),
  // Underscores inside names such as __init__ and snake_case are not emphasis.
  _: (ahead, depth, before) => (WORD.test(before) || ahead.startsWith('__') ? null : marked(ahead, '_', 'em', depth)),
  '~': (ahead, depth) => (ahead.startsWith('~~') ? marked(ahead, '~~', 'del', depth) : null),
  h: (ahead, _, before) => (WORD.test(before) ? null : bare(ahead)),
  '<': angled,
  '[': linkAt,
  '!': linkAt,
};

function spanAt(text: string, at: number, depth: number): Found | null {
  const reader = READERS[text[at] ?? ''];
  return reader?.(text.slice(at, at + AHEAD), depth, text[at - 1] ?? '') ?? null;
}

function codeAt(ahead: string): Found | null {
  const ticks = /^`+/.exec(ahead)?.[0] ?? '';
  const end = ahead.indexOf(ticks, ticks.length);
  if (end === -1 || ahead[end + ticks.length] === '`') return null;
  const inner = ahead.slice(ticks.length, end);
  return { span: { kind: 'code', text: inner.trim() === '' ? inner : inner.trim() }, length: end + ticks.length };
}

function marked(ahead: string, mark: string, kind: 'strong' | 'em' | 'del', depth: number): Found | null {
  const end = ahead.indexOf(mark, mark.length);
  const inner = ahead.slice(mark.length, end);
  if (end === -1 || inner.trim() !== inner || inner === '') return null;
  if (mark === '_' && WORD.test(ahead[end + 1] ?? '')) return null;
  return { span: { kind, spans: spansOf(inner, depth + 1) }, length: end + mark.length };
}

function bare(ahead: string): Found | null {
  const href = URL_HERE.exec(ahead)?.[0];
  return href === undefined ? null : { span: link(href, [href], false), length: href.length };
}

function angled(ahead: string): Found | null {
  const [whole, href] = /^<(https?:\/\/[^\s<>]{1,800})>/.exec(ahead) ?? [];
  return whole === undefined || href === undefined ? null : { span: link(href, [href], false), length: whole.length };
}

/** `[text](url)` and `![text](url)`; anything but a web address is left as text. */
function linkAt(ahead: string, depth: number): Found | null {
  const isImage = ahead.startsWith('![');
  if (!isImage && !ahead.startsWith('[')) return null;
  const from = isImage ? 2 : 1;
  const middle = ahead.indexOf('](', from);
  const end = ahead.indexOf(')', middle);
  if (middle === -1 || end === -1) return null;
  const [href = ''] = ahead
    .slice(middle + 2, end)
    .trim()
    .split(/\s/);
  if (!isWeb(href)) return null;
  const text = ahead.slice(from, middle);
  const spans = text.trim() === '' ? [href] : spansOf(text, Math.max(depth, DEEPEST - 1) + 1);
  return { span: link(href, spans, isImage), length: end + 1 };
}

function link(href: string, spans: readonly Span[], isImage: boolean): Span {
  return isWeb(href) ? { kind: 'link', href, spans, isImage } : href;
}

function isWeb(href: string): boolean {
  return /^https?:\/\//i.test(href) && URL.canParse(href);
}
