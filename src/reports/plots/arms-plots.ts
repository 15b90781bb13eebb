import { passAtK } from '../../statistics/curves/pass-at-k.js';
import type { ArmsReport, Outcome } from '../benchmark/arms.js';
import { percent } from '../figures.js';
import { labelLayers, shareDomain } from './end-labels.js';
import { encodeSeries, kAxis, type Plot, shareAxis } from './plot.js';

/** Lines that are still told apart; the others are in the table. */
const MOST_LINES = 5;
const HEIGHT = 280;

/** The plots of several arms that there are numbers for. */
export function armsPlots(report: ArmsReport): readonly Plot[] {
  return [passPlot(report), riskPlot(report)].filter((plot) => plot !== null);
}

/** Of the arms in order, what each selected or may select from. */
function outcomesOf({ arms, issues }: ArmsReport): readonly { readonly arm: string; readonly outcomes: Outcome[] }[] {
  return arms.map(({ arm }) => ({ arm, outcomes: issues.flatMap(({ arms: of }) => of[arm] ?? []) }));
}

interface PassPoint {
  readonly arm: string;
  readonly k: number;
  readonly value: number;
}

/** Pass@K of every arm, and what it selected; null where nothing is graded. */
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
    title: 'Pass@K, and what was selected',
    note: 'Lines: the chance that some of K random candidates is right, over graded issues. At their ends: the share of selected patches that are right, with Wilson’s 95 % interval.',
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

/** Where an issue has fewer candidates, all it has. */
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

interface RiskPoint {
  readonly series: string;
  readonly coverage: number;
  readonly risk: number;
  readonly confidence: number;
}

/** What is wrong of the selections that an arm is surest of; null without confidences of graded selections. */
function riskPlot(report: ArmsReport): Plot | null {
  const lines = outcomesOf(report).map(({ arm, outcomes }) => riskLine(arm, outcomes));
  const values = lines.flat();
  if (values.length === 0) return null;
  const drawn = lines.filter((line) => line.length > 0).slice(0, MOST_LINES);
  const encoded = encodeSeries(
    'series',
    drawn.flatMap(([first]) => first?.series ?? []),
  );
  const ends = drawn
    .flatMap((line) => line.slice(-1))
    .map(({ series, risk }) => ({ series, x: 1, value: risk, text: series }));
  const x = shareAxis('coverage', 'share of the selections, surest first');
  const y = shareAxis('risk', 'wrong among them');
  const { color, strokeDash } = encoded;
  return {
    name: 'risk',
    title: 'Risk against coverage',
    note: 'If only selections of at least some confidence were taken: how many these are, and how many of them are wrong. A confidence that knows something rises to the right.',
    spec: {
      width: 440,
      height: HEIGHT,
      layer: [
        {
          data: { values: drawn.flat() },
          mark: { type: 'line', strokeWidth: 2, interpolate: 'step-before', point: { size: 25, filled: true } },
          encoding: { x, y, color, strokeDash, order: { field: 'coverage', type: 'quantitative' } },
        },
        ...labelLayers(ends, [0, 1], HEIGHT, encoded),
      ],
    },
    table: {
      columns: ['arm', 'confidence at least', 'share of the selections', 'wrong among them'],
      rows: values.map(({ series, confidence, coverage, risk }) => [series, confidence, coverage, risk]),
    },
  };
}

/** A point for each confidence there is, the surest first. */
function riskLine(series: string, outcomes: readonly Outcome[]): readonly RiskPoint[] {
  const known = outcomes
    .flatMap(({ state, right, confidence }) =>
      state !== 'selected' || right === null || confidence === null ? [] : [{ right, confidence }],
    )
    .sort((a, b) => b.confidence - a.confidence);
  let wrong = 0;
  return known.flatMap(({ right, confidence }, index) => {
    wrong += Number(!right);
    if (known[index + 1]?.confidence === confidence) return [];
    const taken = index + 1;
    return [{ series, confidence, coverage: taken / known.length, risk: wrong / taken }];
  });
}
