import { h, type VNode } from 'preact';

/** What drawings of the service are made of; nothing of it loads, links or runs. */
const ELEMENTS: ReadonlySet<string> = new Set([
  ...['svg', 'g', 'defs', 'clipPath', 'title', 'desc', 'text', 'tspan'],
  ...['path', 'line', 'rect', 'circle', 'polyline', 'polygon'],
]);
const ATTRIBUTES: ReadonlySet<string> = new Set([
  ...[
    'role',
    'aria-label',
    'aria-hidden',
    'aria-roledescription',
    'viewBox',
    'width',
    'height',
    'transform',
    'display',
  ],
  ...['d', 'x', 'y', 'x1', 'x2', 'y1', 'y2', 'cx', 'cy', 'r', 'rx', 'ry', 'dx', 'dy', 'points', 'opacity'],
  ...['fill', 'fill-opacity', 'stroke', 'stroke-opacity', 'stroke-width', 'stroke-dasharray', 'stroke-miterlimit'],
  ...['text-anchor', 'font-family', 'font-size', 'font-weight', 'pointer-events'],
]);
/** A colour or a number: nothing that refers elsewhere. */
const PLAIN = /^(?!.*url\s*\()/i;

/** A drawing of the service, taken apart and put together again from what may stand in one; null for anything else. */
export function drawingOf(svg: string): VNode | null {
  const { documentElement: root } = new DOMParser().parseFromString(svg, 'image/svg+xml');
  return root.localName === 'svg' ? nodeOf(root) : null;
}

function nodeOf(element: Element): VNode | null {
  if (!ELEMENTS.has(element.localName)) return null;
  const attributes = [...element.attributes].filter(({ name, value }) => ATTRIBUTES.has(name) && PLAIN.test(value));
  const children = [...element.childNodes].map((child) => {
    if (child instanceof Element) return nodeOf(child);
    return child instanceof Text ? child.data : null;
  });
  return h(element.localName, Object.fromEntries(attributes.map(({ name, value }) => [name, value])), ...children);
}
