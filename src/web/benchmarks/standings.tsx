import { useMemo } from 'preact/hooks';
import { h, type VNode } from 'preact';
import type { CurvesOfArms, PlotsOfBenchmark } from '../../http/benchmarks/benchmarks.controller.js';
import { FilterForm } from '../filter-form.js';
import { count, counted, percent } from '../format.js';
import { Notice } from '../notice.js';
import { linkTo, readRoute, replaceRoute } from '../route.js';
import { type BenchmarkRun, filtered, ORDER_NAMES, OUTCOMES, rowsOf, STATES } from './benchmark-model.js';
import { BenchmarkTable } from './benchmark-table.js';

type CurveOfArm = CurvesOfArms['arms'][number];

/** Best@K of each arm between a random candidate and a perfect selector, over the issues graded so far. */
export function Standings({ arms }: CurvesOfArms) {
  const graded = arms.filter(({ selected }) => selected !== null);
  if (graded.length === 0) return <p class="quiet">Nothing has been graded yet.</p>;
  return (
    <section>
      <h2>Right so far</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Right so far">
        <table class="list standings">
          <thead>
            <tr>
              <th scope="col">Arm</th>
              <th scope="col" class="number" title="a random candidate">
                Pass@1
              </th>
              <th scope="col" class="number" title="the selected patches, with Wilson's 95% interval">
                Best@K
              </th>
              <th scope="col" class="number" title="a perfect selector">
                Pass@K
              </th>
              <th scope="col">0 to 100%: ▲ Pass@1, ● Best@K with its interval, ┃ Pass@K</th>
            </tr>
          </thead>
          <tbody>
            {graded.map((curve) => (
              <Row key={curve.arm} curve={curve} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ curve: { arm, selected, points } }: { readonly curve: CurveOfArm }) {
  const [first, last] = [points[0]?.pass_at_k, points.at(-1)?.pass_at_k];
  return (
    <tr>
      <th scope="row">{arm}</th>
      <td class="number">{first === undefined ? '–' : percent(first.value)}</td>
      <td class="number">
        {selected !== null && percent(selected.value)}{' '}
        <span class="quiet">{selected !== null && intervalOf(selected)}</span>
      </td>
      <td class="number">{last === undefined ? '–' : percent(last.value)}</td>
      <td>
        <span class="range" aria-hidden="true">
          {selected !== null && (
            <span
              class="range-interval"
              style={{ left: percent(selected.low), width: percent(selected.high - selected.low) }}
            />
          )}
          <Mark name="first" share={first} />
          <Mark name="all" share={last} />
          <Mark name="best" share={selected ?? undefined} />
        </span>
      </td>
    </tr>
  );
}

function Mark({ name, share }: { readonly name: string; readonly share: { readonly value: number } | undefined }) {
  if (share === undefined) return null;
  return <span class={`range-${name}`} style={{ left: percent(share.value) }} />;
}

function intervalOf({ low, high, issues }: NonNullable<CurveOfArm['selected']>): string {
  return `(${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)}, ${counted(issues, 'issue')})`;
}

interface Props {
  readonly id: string;
  readonly arms: readonly string[];
  readonly runs: readonly BenchmarkRun[];
  readonly query: URLSearchParams;
}

const NAMES = ['q', 'repository', 'state', 'outcome', 'order'] as const;

/** The issues selected by the filters, which are stored in the address. */
export function IssuesOfBenchmark({ id, arms, runs, query }: Props) {
  const rows = useMemo(() => rowsOf(runs, arms), [runs, arms.join()]);
  const repositories = useMemo(() => [...new Set(rows.map(({ repository }) => repository))].sort(), [rows]);
  const value = (name: (typeof NAMES)[number]): string => query.get(name) ?? '';
  const shown = filtered(rows, {
    q: value('q'),
    repository: value('repository'),
    state: value('state'),
    outcome: value('outcome'),
    order: value('order'),
  });
  const choice = (name: (typeof NAMES)[number], label: string, options: readonly string[]) => {
    return { name, label, value: value(name), options };
  };
  const change = (name: string, to: string | null): void => {
    // The current address: typed text is reported with a delay, and another filter may have changed meanwhile.
    const now = readRoute(window.location.hash).query;
    const kept = Object.fromEntries(NAMES.map((each) => [each, now.get(each)]));
    replaceRoute(linkTo(['benchmarks', id], { ...kept, [name]: to }));
  };
  return (
    <>
      <FilterForm
        label="Issue"
        q={value('q')}
        choices={[
          choice('repository', 'Repository', repositories),
          choice('state', 'State', Object.keys(STATES)),
          choice('outcome', 'Outcome in any arm', Object.keys(OUTCOMES)),
          { ...choice('order', 'Sort', ORDER_NAMES), none: 'original order' },
        ]}
        onChange={change}
      >
        <span class="quiet" role="status">
          {count(shown.length)} of {count(rows.length)} issues
        </span>
      </FilterForm>
      {shown.length === 0 && rows.length > 0 && <Notice>No issues match. Remove a filter.</Notice>}
      <BenchmarkTable key={query.toString()} id={id} arms={arms} rows={shown} />
    </>
  );
}

type Plot = PlotsOfBenchmark['plots'][number];

/** A report's plots, each with its numbers. */
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

/** Elements used in the service's drawings; none of them loads, links or runs anything. */
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
/** A plain value, such as a colour or a number: no reference to another resource. */
const PLAIN = /^(?!.*url\s*\()/i;

/** A drawing of the service, rebuilt from allowed elements and attributes only; null for anything else. */
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
