import type { CurvesReport } from '../../statistics/curves/curves-report.js';
import type { ReliabilityBin } from '../../statistics/intervals/ranking-quality.js';
import { measureNamed } from '../../core/run/verdict.js';
import { encodeSeries, GREY, labelLayers, type LayerSpec, type Plot, shareAxis } from './plot.js';

interface Bin extends ReliabilityBin {
  readonly verifier: string;
}

/** Calibration of probabilities: of candidates given 70%, are 70% right? Null without probabilities. */
export function reliabilityPlot({ verifiers }: CurvesReport): Plot | null {
  const values = verifiers.flatMap(({ verifier, reliability }) =>
    reliability.map((bin) => ({ verifier: verifierTitle(verifier), ...bin })),
  );
  if (values.length === 0) return null;
  return {
    name: 'reliability',
    title: 'Calibration: predicted and observed',
    note: 'Ten bins of equal width with Wilson 95% intervals; larger marks have more candidates. On the dashed line, probabilities are perfectly calibrated.',
    spec: specOf(values),
    table: {
      columns: ['verifier', 'bin', 'candidates', 'predicted', 'observed', 'low', 'high'],
      rows: values.map((bin) => [
        bin.verifier,
        `${bin.from}–${bin.to}`,
        bin.candidates,
        bin.mean_score,
        bin.resolved_rate,
        bin.low,
        bin.high,
      ]),
    },
  };
}

function specOf(values: Bin[]): Plot['spec'] {
  const names = [...new Set(values.map(({ verifier }) => verifier))];
  const { color, shape } = encodeSeries('verifier', names, {}, 'bottom');
  const x = shareAxis('mean_score', 'predicted probability (mean of the bin)');
  const size = {
    field: 'candidates',
    type: 'quantitative',
    scale: { range: [30, 220] },
    legend: null,
  } as const;
  return {
    width: 300,
    height: 300,
    layer: [
      DIAGONAL,
      {
        data: { values },
        mark: { type: 'rule' },
        encoding: {
          x,
          y: shareAxis('low', 'observed share right'),
          y2: { field: 'high' },
          color,
        },
      },
      {
        data: { values },
        mark: { type: 'point', filled: true, opacity: 1 },
        encoding: {
          x,
          y: { field: 'resolved_rate', type: 'quantitative' },
          color,
          shape,
          size,
        },
      },
    ],
  };
}

/** ROC curve of each verifier: wrong candidates let through against right ones kept; null without both labels. */
export function rocPlot({ verifiers }: CurvesReport): Plot | null {
  const drawn = verifiers.filter(({ roc }) => roc.length > 0);
  if (drawn.length === 0) return null;
  const values = drawn.flatMap(({ verifier, roc }) =>
    roc.map(({ score, false_positive_rate, true_positive_rate }, order) => ({
      verifier: verifierTitle(verifier),
      score,
      false_positive_rate,
      true_positive_rate,
      order,
    })),
  );
  const { color, strokeDash } = encodeSeries(
    'verifier',
    drawn.map(({ verifier }) => verifierTitle(verifier)),
    {},
    'bottom-right',
  );
  return {
    name: 'roc',
    title: 'Verifiers: right candidates accepted against wrong ones',
    note: 'All candidates together; closer to the upper left corner is better, the dashed line is guessing.',
    spec: {
      width: 300,
      height: 300,
      layer: [
        DIAGONAL,
        {
          data: { values },
          mark: { type: 'line', strokeWidth: 2 },
          encoding: {
            x: shareAxis('false_positive_rate', 'wrong candidates accepted'),
            y: shareAxis('true_positive_rate', 'right candidates accepted'),
            order: { field: 'order', type: 'quantitative' },
            color,
            strokeDash,
          },
        },
      ],
    },
    table: {
      columns: ['verifier', 'score at least', 'wrong accepted', 'right accepted'],
      rows: values.map((each) => [each.verifier, each.score, each.false_positive_rate, each.true_positive_rate]),
    },
  };
}

/** A verifier's title in plots. */
function verifierTitle(verifier: string): string {
  return TITLES.get(verifier) ?? measureNamed(verifier).title;
}

const TITLES: ReadonlyMap<string, string> = new Map([
  ['execution_free', 'execution-free P(YES)'],
  ['regression', 'regression tests passed'],
  ['reproduction', 'reproduction tests passed'],
  ['learned', 'learned combiner'],
]);

/** The result of guessing, or of perfect calibration. */
const DIAGONAL: LayerSpec = {
  data: {
    values: [
      { x: 0, y: 0 },
      { x: 1, y: 1 },
    ],
  },
  mark: { type: 'line', color: GREY, strokeDash: [3, 3], strokeWidth: 1 },
  encoding: { x: { field: 'x', type: 'quantitative' }, y: { field: 'y', type: 'quantitative' } },
};

/** Most lines that can be told apart; the others are only in the table. */
const MOST_LINES = 5;
const HEIGHT = 280;
/** If a line has more points than this, they are not marked: they would hide it. */
const MOST_POINTS = 40;

/** A selection with a known outcome. */
interface Judged {
  readonly right: boolean;
  readonly confidence: number;
}

interface RiskPoint {
  readonly series: string;
  readonly coverage: number;
  readonly risk: number;
  readonly confidence: number;
}

/**
 * Share of wrong ones among the most confident selections; null if no two confidences differ.
 * @param of what a line stands for, used as the table's column name
 */
export function riskPlot(
  of: string,
  selections: readonly { readonly series: string; readonly judged: readonly Judged[] }[],
): Plot | null {
  const lines = selections.map(({ series, judged }) => riskLine(series, judged)).filter((line) => line.length > 0);
  if (lines.every((line) => line.length < 2)) return null;
  const drawn = lines.slice(0, MOST_LINES);
  const encoded = encodeSeries(
    'series',
    drawn.flatMap(([first]) => first?.series ?? []),
  );
  const ends = drawn
    .flatMap((line) => line.slice(-1))
    .map(({ series, risk }) => ({ series, x: 1, value: risk, text: series }));
  const x = shareAxis('coverage', 'share of the selections, highest confidence first');
  const y = shareAxis('risk', 'share wrong');
  const { color, strokeDash } = encoded;
  const point = drawn.every((line) => line.length <= MOST_POINTS) && { size: 25, filled: true };
  return {
    name: 'risk',
    title: 'Risk against coverage',
    note: 'If only selections above a confidence are used: the share that remains, and the share of these that is wrong. If confidence is informative, the line rises to the right.',
    spec: {
      width: 440,
      height: HEIGHT,
      layer: [
        {
          data: { values: drawn.flat() },
          mark: { type: 'line', strokeWidth: 2, interpolate: 'step-before', point },
          encoding: { x, y, color, strokeDash, order: { field: 'coverage', type: 'quantitative' } },
        },
        ...labelLayers(ends, [0, 1], HEIGHT, encoded),
      ],
    },
    table: {
      columns: [of, 'confidence at least', 'share of the selections', 'share wrong'],
      rows: lines.flat().map(({ series, confidence, coverage, risk }) => [series, confidence, coverage, risk]),
    },
  };
}

/** One point per distinct confidence, highest first. */
function riskLine(series: string, judged: readonly Judged[]): readonly RiskPoint[] {
  const known = judged.toSorted((a, b) => b.confidence - a.confidence);
  let wrong = 0;
  return known.flatMap(({ right, confidence }, index) => {
    wrong += Number(!right);
    if (known[index + 1]?.confidence === confidence) return [];
    const taken = index + 1;
    return [{ series, confidence, coverage: taken / known.length, risk: wrong / taken }];
  });
}
