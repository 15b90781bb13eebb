import { useMemo } from 'preact/hooks';
import type { VNode } from 'preact';
import { type Block, blocksOf } from './blocks.js';
import { type Span, spansOf } from './spans.js';

/** Longer texts are read as they are. */
const LONGEST = 100_000;

/** A text from outside, laid out. It becomes elements one by one, never markup; no image of it is loaded. */
export function Markdown({ text }: { readonly text: string }) {
  const blocks = useMemo(() => (text.length > LONGEST ? null : blocksOf(text)), [text]);
  if (blocks === null) return <pre class="text">{text}</pre>;
  return <div class="markdown">{blocks.map(blockOf)}</div>;
}

function blockOf(block: Block, key: number): VNode {
  switch (block.kind) {
    case 'heading':
      // The outline of the page is the page's own.
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

/** Where a link leads, when its words do not say so. */
function Host({ href, text }: { readonly href: string; readonly text: Span | null | undefined }) {
  return text === href ? null : <span class="quiet"> ({new URL(href).host})</span>;
}
