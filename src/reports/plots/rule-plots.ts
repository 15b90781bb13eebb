import type { BenchmarkCurve } from '../../runs/benchmark-service.js';
import type { ArmsReport } from '../benchmark/arms.js';
import { percent } from '../figures.js';
import { encodeSeries, kAxis, labelLayers, type LayerSpec, type Plot, shareAxis, shareDomain } from './plot.js';

/** Lines that are still told apart; the others are in the table. */
const MOST_LINES = 5;
/** More bands over each other are a grey in which none is seen. */
const MOST_BANDS = 3;
const HEIGHT = 280;

interface BestPoint {
  readonly series: string;
  readonly k: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** What the rule of each arm selects from k of its candidates; null where that was not worked out. */
export function bestPlot(curves: readonly BenchmarkCurve[]): Plot | null {
  const lines = curves.map(({ arm, points }) =>
    points.flatMap(({ k, best_at_k: best }) => (best === null ? [] : [{ series: arm, k, ...best }])),
  );
  const known = lines.filter((line) => line.length > 1);
  if (known.length === 0) return null;
  const drawn = known.slice(0, MOST_LINES);
  const banded = drawn.length > MOST_BANDS ? ` of the first ${MOST_BANDS}` : '';
  return {
    name: 'arms-best',
    title: 'Best@K: what each arm selects from K of its candidates',
    note: `The chance that the arm’s rule returns a right one of K random candidates, ties averaged, over graded issues. Bands: Wilson’s 95 % intervals${banded}.`,
    spec: bestSpec(drawn),
    table: {
      columns: ['arm', 'k', 'Best@K', 'low', 'high'],
      rows: lines.flat().map(({ series, k, value, low, high }) => [series, k, value, low, high]),
    },
  };
}

function bestSpec(lines: readonly (readonly BestPoint[])[]): Plot['spec'] {
  const names = lines.flatMap(([first]) => first?.series ?? []);
  const encoded = encodeSeries('series', names);
  const { color, strokeDash } = encoded;
  const values = lines.flat();
  const inBands = lines.slice(0, MOST_BANDS).flat();
  const domain = shareDomain([...values.map(({ value }) => value), ...inBands.flatMap(({ low, high }) => [low, high])]);
  const x = kAxis([...new Set(values.map(({ k }) => k))].sort((a, b) => a - b));
  const y = (field: string) => shareAxis(field, 'issues resolved', domain);
  const last = Math.max(...values.map(({ k }) => k));
  const ends = lines
    .flatMap((line) => line.slice(-1))
    .map(({ series, value }) => ({ series, value, x: last, text: `${series} ${percent(value)}` }));
  return {
    width: 440,
    height: HEIGHT,
    layer: [
      {
        data: { values: inBands },
        mark: { type: 'area', opacity: 0.13 },
        encoding: { x, y: y('low'), y2: { field: 'high' }, color },
      },
      {
        data: { values },
        mark: { type: 'line', strokeWidth: 2, point: { size: 30, filled: true } },
        encoding: { x, y: y('value'), color, strokeDash },
      },
      ...labelLayers(ends, domain, HEIGHT, encoded),
    ],
  };
}

interface Spent {
  readonly series: string;
  readonly cost: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** What is right of what each arm selected against what an issue cost; null with one arm, or where nothing was paid for. */
export function spentPlot({ arms }: ArmsReport): Plot | null {
  const inDollars = arms.every(({ usd, right }) => right === null || (usd ?? 0) > 0);
  const unit = inDollars ? 'US dollars an issue' : 'tokens an issue';
  const values = arms.flatMap(({ arm, right, usd, tokens, selected, without_patch }): Spent[] => {
    const spent = inDollars ? (usd ?? 0) : tokens;
    const ended = selected + without_patch;
    if (right === null || spent === 0 || ended === 0) return [];
    return [{ series: arm, cost: spent / ended, value: right.rate, low: right.low, high: right.high }];
  });
  if (values.length < 2) return null;
  return {
    name: 'arms-cost',
    title: 'What was selected against what it costs',
    note: 'The share of selected patches that are right, with Wilson’s 95 % interval, over what an issue that has ended cost. Stored answers cost nothing again and are not counted.',
    spec: spentSpec(values.slice(0, MOST_LINES), unit),
    table: {
      columns: ['arm', unit, 'right', 'low', 'high'],
      rows: values.map(({ series, cost, value, low, high }) => [series, cost, value, low, high]),
    },
  };
}

function spentSpec(values: Spent[], unit: string): Plot['spec'] {
  const encoded = encodeSeries(
    'series',
    values.map(({ series }) => series),
  );
  const { color, shape } = encoded;
  const domain = shareDomain(values.flatMap(({ low, high }) => [low, high]));
  const y = (field: string) => shareAxis(field, 'right', domain);
  const dearest = Math.max(...values.map(({ cost }) => cost));
  const x = {
    field: 'cost',
    type: 'quantitative' as const,
    title: unit,
    scale: { domain: [0, 1.05 * dearest] },
    axis: { format: unit.startsWith('tokens') ? '~s' : '$.3~f' },
  };
  const ends = values.map(({ series, value }) => ({ series, value, x: dearest, text: `${series} ${percent(value)}` }));
  const rule: LayerSpec = {
    mark: { type: 'rule', strokeWidth: 2 },
    encoding: { x, y: y('low'), y2: { field: 'high' }, color },
  };
  return {
    width: 440,
    height: HEIGHT,
    layer: [
      { ...rule, data: { values } },
      {
        data: { values },
        mark: { type: 'point', filled: true, size: 70, opacity: 1 },
        encoding: { x, y: y('value'), color, shape },
      },
      ...labelLayers(ends, domain, HEIGHT, encoded),
    ],
  };
}
