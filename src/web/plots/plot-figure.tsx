import { h, type VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { PlotsOfBenchmark } from '../../http/benchmarks/benchmarks.controller.js';

type Plot = PlotsOfBenchmark['plots'][number];

/** The plots of a report, as it draws them, each with the numbers behind it. */
export function PlotFigures({ plots }: PlotsOfBenchmark) {
  return (
    <div class="plots">
      {plots.map((plot) => (
        <PlotFigure key={plot.name} plot={plot} />
      ))}
    </div>
  );
}

function PlotFigure({ plot: { title, note, svg, columns, rows } }: { readonly plot: Plot }) {
  const drawing = useMemo(() => drawingOf(svg), [svg]);
  return (
    <figure class="plot">
      <figcaption>
        <strong>{title}</strong>
        <span class="quiet plot-note">{note}</span>
      </figcaption>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Drawing: ${title}`}>
        {drawing}
      </div>
      <details>
        <summary>Numbers</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label={`Numbers: ${title}`}>
          <Numbers columns={columns} rows={rows} />
        </div>
      </details>
    </figure>
  );
}

function Numbers({ columns, rows }: Pick<Plot, 'columns' | 'rows'>) {
  return (
    <table class="list">
      <thead>
        <tr>
          {columns.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          <tr key={index}>
            {row.map((cell, column) => (
              <td key={columns[column]} class={typeof cell === 'number' ? 'number' : undefined}>
                {cellText(cell)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function cellText(cell: string | number | null): string {
  if (cell === null) return '–';
  return typeof cell === 'string' ? cell : String(Math.round(cell * 1e6) / 1e6);
}

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
function drawingOf(svg: string): VNode | null {
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
