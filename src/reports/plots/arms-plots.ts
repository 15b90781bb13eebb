import { passAtK } from '../../statistics/curves/best-at-k.js';
import type { ArmsReport, Outcome } from '../benchmark/arms.js';
import type { BenchmarkCurve } from '../../runs/benchmark-service.js';
import { percent } from '../figures.js';
import { encodeSeries, kAxis, labelLayers, type Plot, shareAxis, shareDomain, type LayerSpec } from './plot.js';
import { riskPlot } from './judge-plots.js';

/** Most lines that can be told apart; the others are only in the table. */
const MOST_LINES = 5;
const HEIGHT = 280;

/**
 * Plots of several arms, if there are numbers for them.
 * @param curves Best@K of each arm's rule on fewer candidates
 */
export function armsPlots(report: ArmsReport, curves: readonly BenchmarkCurve[] = []): readonly Plot[] {
  return [passPlot(report), bestPlot(curves), riskOf(report), spentPlot(report)].filter((plot) => plot !== null);
}

/** The outcomes of each arm, in order. */
function outcomesOf({ arms, issues }: ArmsReport): readonly { readonly arm: string; readonly outcomes: Outcome[] }[] {
  return arms.map(({ arm }) => ({ arm, outcomes: issues.flatMap(({ arms: of }) => of[arm] ?? []) }));
}

interface PassPoint {
  readonly arm: string;
  readonly k: number;
  readonly value: number;
}

/** Pass@K of every arm, and the share right of what it selected; null if nothing is graded. */
function passPlot(report: ArmsReport): Plot | null {
  const lines = outcomesOf(report).map(({ arm, outcomes }) => passLine(arm, outcomes));
  const points = lines.flat();
  const selected = report.arms.flatMap(({ arm, right }) =>
    right === null ? [] : [{ arm, right, k: lastOf(lines, arm) }],
  );
  if (points.length === 0) return null;
  const names = report.arms.map(({ arm }) => arm).slice(0, MOST_LINES);
  return {
    name: 'arms-curves',
    title: 'Pass@K, and the selected patches',
    note: 'Lines: probability that at least one of K random candidates is right, over graded issues. Marks at the ends: share of selected patches that are right, with Wilson’s 95% interval.',
    spec: passSpec(
      points.filter(({ arm }) => names.includes(arm)),
      selected.filter(({ arm }) => names.includes(arm)).map(({ arm, k, right }) => ({ arm, k, ...right })),
      names,
    ),
    table: {
      columns: ['arm', 'k', 'of', 'value', 'low', 'high'],
      rows: [
        ...points.map(({ arm, k, value }) => [arm, k, 'Pass@K', value, null, null]),
        ...selected.map(({ arm, k, right }) => [arm, k, 'selected', right.rate, right.low, right.high]),
      ],
    },
  };
}

function lastOf(lines: readonly (readonly PassPoint[])[], name: string): number {
  return lines.find(([first]) => first?.arm === name)?.at(-1)?.k ?? 1;
}

function passLine(arm: string, outcomes: readonly Outcome[]): readonly PassPoint[] {
  const graded = outcomes.filter(({ graded: count }) => count > 0);
  const most = Math.max(0, ...graded.map(({ graded: count }) => count));
  const ks = [...Array.from({ length: 10 }, (_, power) => 2 ** power).filter((k) => k < most), most];
  return graded.length === 0 ? [] : ks.map((k) => ({ arm, k, value: passOf(graded, k) }));
}

/** An issue with fewer candidates counts with all of them. */
function passOf(graded: readonly Outcome[], k: number): number {
  const chances = graded.map(({ graded: n, right_candidates: right }) => passAtK(n, right, Math.min(k, n)));
  return chances.reduce((sum, chance) => sum + chance, 0) / graded.length;
}

interface SelectedPoint {
  readonly arm: string;
  readonly k: number;
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

function passSpec(values: PassPoint[], selected: SelectedPoint[], names: readonly string[]): Plot['spec'] {
  const encoded = encodeSeries('series', names);
  const { color, strokeDash, shape } = encoded;
  const lines = values.map((point) => ({ ...point, series: point.arm }));
  const points = selected.map((point) => ({ ...point, series: point.arm }));
  const domain = shareDomain([
    ...values.map(({ value }) => value),
    ...selected.flatMap(({ rate, low, high }) => [rate, low, high]),
  ]);
  const ks = [...new Set(values.map(({ k }) => k))];
  const last = Math.max(...ks);
  const x = kAxis(ks);
  const y = (field: string) => shareAxis(field, 'issues', domain);
  const ends = points.map(({ series, rate }) => ({ series, x: last, value: rate, text: `${series} ${percent(rate)}` }));
  return {
    width: 440,
    height: HEIGHT,
    layer: [
      {
        data: { values: lines },
        mark: { type: 'line', strokeWidth: 2 },
        encoding: { x, y: y('value'), color, strokeDash },
      },
      {
        data: { values: points },
        mark: { type: 'rule', strokeWidth: 2 },
        encoding: { x, y: y('low'), y2: { field: 'high' }, color },
      },
      {
        data: { values: points },
        mark: { type: 'point', filled: true, size: 70, opacity: 1 },
        encoding: { x, y: y('rate'), color, shape },
      },
      ...labelLayers(ends, domain, HEIGHT, encoded),
    ],
  };
}

/** Share of wrong selections by confidence, for each arm. */
function riskOf(report: ArmsReport): Plot | null {
  const selections = outcomesOf(report).map(({ arm, outcomes }) => ({
    series: arm,
    judged: outcomes.flatMap(({ state, right, confidence }) =>
      state !== 'selected' || right === null || confidence === null ? [] : [{ right, confidence }],
    ),
  }));
  return riskPlot('arm', selections);
}

/** With more overlapping bands, none can be distinguished. */
const MOST_BANDS = 3;

interface BestPoint {
  readonly series: string;
  readonly k: number;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Best@K of each arm's rule from k of its candidates; null if it was not computed. */
function bestPlot(curves: readonly BenchmarkCurve[]): Plot | null {
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
    note: `Probability that the arm’s rule returns a right patch from K random candidates, ties averaged, over graded issues. Bands: Wilson’s 95% intervals${banded}.`,
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

/** Share right of what each arm selected against its cost per issue; null with one arm, or if nothing was paid for. */
function spentPlot({ arms }: ArmsReport): Plot | null {
  const inDollars = arms.every(({ usd, right }) => right === null || (usd ?? 0) > 0);
  const unit = inDollars ? 'US dollars per issue' : 'tokens per issue';
  const values = arms.flatMap(({ arm, right, usd, tokens, selected, without_patch }): Spent[] => {
    const spent = inDollars ? (usd ?? 0) : tokens;
    const ended = selected + without_patch;
    if (right === null || spent === 0 || ended === 0) return [];
    return [{ series: arm, cost: spent / ended, value: right.rate, low: right.low, high: right.high }];
  });
  if (values.length < 2) return null;
  return {
    name: 'arms-cost',
    title: 'Selected patches that are right, against cost',
    note: 'Share of selected patches that are right, with Wilson’s 95% interval, over the cost per finished issue. Stored answers cost nothing and are not counted.',
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
