import type { Estimated } from '../../statistics/intervals/curve-table.js';
import type { CurvesReport } from '../../statistics/curves/curves-report.js';
import { linesByBest, shortName } from '../benchmark/presets.js';
import { listed } from '../../core/hostile-text.js';
import { percent } from '../figures.js';
import {
  encodeSeries,
  GREY,
  INK,
  kAxis,
  labelLayers,
  type LayerSpec,
  type Plot,
  SERIES,
  shareAxis,
  shareDomain,
} from './plot.js';

/** Lines drawn in addition to Pass@K and `random`; the others are only in the table. */
const MOST_LINES = 4;
/** With more overlapping bands, none can be distinguished. */
const MOST_BANDS = 3;
const HEIGHT = 300;
const PASS = 'Pass@K (oracle)';

interface Point {
  readonly series: string;
  readonly k: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Pass@K at the top, `random` at the bottom, the user's own preset and the best ones between. */
export function curvesPlot(curves: CurvesReport, own: string | null): Plot {
  const { pass_at_k } = curves;
  const { ks, interval } = curves.settings;
  const ranked = linesByBest(curves, own).map((line) => ({ ...line, series: shortName(line) }));
  const best = ranked.filter(({ preset }) => preset !== 'random');
  const random = ranked.filter(({ preset }) => preset === 'random');
  const drawn = [PASS, ...[...best.slice(0, MOST_LINES), ...random].map(({ series }) => series)];
  const all = [{ series: PASS, best_at_k: pass_at_k }, ...best, ...random].flatMap(({ series, best_at_k }) =>
    ks.flatMap((k) => pointOf(series, k, best_at_k[String(k)]) ?? []),
  );
  const banded = [PASS, ...[...best.slice(0, 1), ...random].map(({ series }) => series)].slice(0, MOST_BANDS);
  const folded = ranked.some(({ alike }) => alike.length > 0)
    ? ' “+1” means that one more rule has the same results; the table of rules names it.'
    : '';
  const how = interval === 'bootstrap' ? 'bootstrap' : 'normal';
  return {
    name: 'curves',
    title: 'Pass@K and Best@K',
    note: `The top line is a perfect selector. Bands are ${how} 95% intervals over issues, of ${listed(banded)}.${folded}`,
    spec: specOf(
      all.filter(({ series }) => drawn.includes(series)),
      { drawn, banded },
      ks,
    ),
    table: {
      columns: ['rule', 'k', 'value', 'low', 'high'],
      rows: all.map(({ series, k, value, low, high }) => [series, k, value, low, high]),
    },
  };
}

interface Names {
  readonly drawn: readonly string[];
  readonly banded: readonly string[];
}

function specOf(values: Point[], { drawn, banded }: Names, ks: readonly number[]): Plot['spec'] {
  const encoded = encodeSeries('series', drawn, { [PASS]: INK, random: GREY });
  const { color, strokeDash, shape } = encoded;
  const inBands = values.filter(({ series }) => banded.includes(series));
  const domain = shareDomain([...values.map(({ value }) => value), ...inBands.flatMap(({ low, high }) => [low, high])]);
  const last = ks.at(-1) ?? 1;
  const ends = values
    .filter(({ k }) => k === last)
    .map(({ series, value }) => ({ series, value, x: last, text: `${series} ${percent(value)}` }));
  const y = (field: string) => shareAxis(field, 'issues resolved', domain);
  const encoding = { x: kAxis(ks), y: y('value'), color } as const;
  return {
    width: 480,
    height: HEIGHT,
    layer: [
      {
        data: { values: inBands },
        mark: { type: 'area', opacity: 0.13 },
        encoding: { ...encoding, y: y('low'), y2: { field: 'high' } },
      },
      { data: { values }, mark: { type: 'line', strokeWidth: 2 }, encoding: { ...encoding, strokeDash } },
      {
        data: { values },
        mark: { type: 'point', filled: true, size: 45, opacity: 1 },
        encoding: { ...encoding, shape },
      },
      ...labelLayers(ends, domain, HEIGHT, encoded),
    ],
  };
}

function pointOf(series: string, k: number, given: Estimated | undefined): Point | null {
  if (given === undefined) return null;
  const { value, low, high } = given;
  return { series, k, value, low: low ?? value, high: high ?? value };
}

/** Share of the way from a random pick to a perfect selector that each preset recovers; null if there is no headroom. */
export function headroomPlot(curves: CurvesReport, own: string | null): Plot | null {
  const values = linesByBest(curves, own)
    .flatMap(({ recovered_headroom: share, ...line }) =>
      share === null ? [] : [{ preset: shortName(line), value: share.value, low: share.low, high: share.high }],
    )
    .sort((a, b) => b.value - a.value || (a.preset < b.preset ? -1 : 1));
  if (values.length === 0) return null;
  const y = { field: 'preset', type: 'nominal', sort: values.map(({ preset }) => preset), title: null } as const;
  // A layer without marks would be rendered as an image without an accessible name.
  const interval: LayerSpec = {
    transform: [{ filter: 'datum.low !== null' }],
    mark: { type: 'rule', color: SERIES[0], strokeWidth: 2 },
    encoding: { y, x: { field: 'low', type: 'quantitative' }, x2: { field: 'high' } },
  };
  return {
    name: 'headroom',
    title: 'Head-room recovered',
    note: '0 = a random candidate (Pass@1), 1 = a perfect selector (Pass@K), below 0 = worse than random; 95% intervals.',
    spec: {
      data: { values },
      width: 420,
      height: { step: 22 },
      layer: [
        {
          data: { values: [{ at: 0 }, { at: 1 }] },
          mark: { type: 'rule', color: GREY, strokeDash: [3, 3] },
          encoding: { x: { field: 'at', type: 'quantitative' } },
        },
        ...(values.some(({ low }) => low !== null) ? [interval] : []),
        {
          mark: { type: 'point', filled: true, size: 70, opacity: 1, color: SERIES[0] },
          encoding: { y, x: { field: 'value', type: 'quantitative', title: 'share of the head-room' } },
        },
      ],
    },
    table: {
      columns: ['rule', 'recovered', 'low', 'high'],
      rows: values.map(({ preset, value, low, high }) => [preset, value, low, high]),
    },
  };
}
