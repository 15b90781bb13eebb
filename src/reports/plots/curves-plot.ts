import type { Estimated } from '../../statistics/curves/curve-table.js';
import type { CurvesReport } from '../../statistics/curves/curves-report.js';
import { presetsByBest } from '../benchmark/presets.js';
import { encodeSeries, GREY, INK, type Plot, SERIES } from './plot.js';

/** Lines drawn beside Pass@K and `random`; the rest is in the table. */
const MOST_LINES = 4;
const PASS = 'Pass@K (oracle)';

interface Point {
  readonly series: string;
  readonly k: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Pass@K above, `random` below, and between them what the best presets make of it. */
export function curvesPlot(curves: CurvesReport): Plot {
  const { pass_at_k } = curves;
  const { ks, interval } = curves.settings;
  const ranked = presetsByBest(curves);
  const best = ranked.filter(({ preset }) => preset !== 'random');
  const random = ranked.filter(({ preset }) => preset === 'random');
  const drawn = [PASS, ...[...best.slice(0, MOST_LINES), ...random].map(({ preset }) => preset)];
  const all = [{ preset: PASS, best_at_k: pass_at_k }, ...best, ...random].flatMap(({ preset, best_at_k }) =>
    ks.flatMap((k) => pointOf(preset, k, best_at_k[String(k)]) ?? []),
  );
  const how = interval === 'bootstrap' ? 'bootstrap' : 'normal';
  return {
    name: 'curves',
    title: 'Pass@K and Best@K',
    note: `The top line is what a perfect selector would return; bands are ${how} 95 % intervals over issues.`,
    spec: specOf(
      all.filter(({ series }) => drawn.includes(series)),
      drawn,
      ks,
    ),
    table: {
      columns: ['rule', 'k', 'value', 'low', 'high'],
      rows: all.map(({ series, k, value, low, high }) => [series, k, value, low, high]),
    },
  };
}

function specOf(values: Point[], names: readonly string[], ks: readonly number[]): Plot['spec'] {
  const { color, strokeDash, shape } = encodeSeries('series', names, { [PASS]: INK, random: GREY });
  const y = { field: 'value', type: 'quantitative' } as const;
  return {
    data: { values },
    width: 560,
    height: 300,
    encoding: {
      x: {
        field: 'k',
        type: 'quantitative',
        scale: { type: 'log', base: 2, nice: false },
        axis: { values: [...ks], title: 'K, candidates an issue', format: 'd' },
      },
    },
    layer: [
      {
        mark: { type: 'area', opacity: 0.13 },
        encoding: {
          y: { ...y, field: 'low', title: 'issues resolved', axis: { format: '%' }, scale: { zero: false } },
          y2: { field: 'high' },
          color,
        },
      },
      { mark: { type: 'line', strokeWidth: 2 }, encoding: { y, color, strokeDash } },
      { mark: { type: 'point', filled: true, size: 45, opacity: 1 }, encoding: { y, color, shape } },
    ],
  };
}

/** Intervals of the normal approximation may leave 0..1; a rate does not. */
function pointOf(series: string, k: number, given: Estimated | undefined): Point | null {
  if (given === undefined) return null;
  const { value, low, high } = given;
  return { series, k, value, low: Math.max(0, low ?? value), high: Math.min(1, high ?? value) };
}

/** How much of the way from a random pick to a perfect one each preset goes; null where there is no way to go. */
export function headroomPlot({ presets }: CurvesReport): Plot | null {
  const values = presets
    .flatMap(({ preset, recovered_headroom: share }) =>
      share === null ? [] : [{ preset, value: share.value, low: share.low, high: share.high }],
    )
    .sort((a, b) => b.value - a.value || (a.preset < b.preset ? -1 : 1));
  if (values.length === 0) return null;
  const y = { field: 'preset', type: 'nominal', sort: values.map(({ preset }) => preset), title: null } as const;
  return {
    name: 'headroom',
    title: 'Head-room recovered',
    note: '0 = a random candidate (Pass@1), 1 = a perfect selector (Pass@K), below 0 = worse than random; 95 % intervals.',
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
        {
          transform: [{ filter: 'datum.low !== null' }],
          mark: { type: 'rule', color: SERIES[0], strokeWidth: 2 },
          encoding: {
            y,
            x: { field: 'low', type: 'quantitative', title: 'share of the head-room' },
            x2: { field: 'high' },
          },
        },
        {
          mark: { type: 'point', filled: true, size: 70, opacity: 1, color: SERIES[0] },
          encoding: { y, x: { field: 'value', type: 'quantitative' } },
        },
      ],
    },
    table: {
      columns: ['rule', 'recovered', 'low', 'high'],
      rows: values.map(({ preset, value, low, high }) => [preset, value, low, high]),
    },
  };
}
