import { labelLayers } from './end-labels.js';
import { encodeSeries, type Plot, shareAxis } from './plot.js';

/** Lines that are still told apart; the others are in the table. */
const MOST_LINES = 5;
const HEIGHT = 280;
/** More on a line hide it. */
const MOST_POINTS = 40;

/** A selection of which it is known whether it is right. */
export interface Judged {
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
 * What is wrong of the selections that are surest; null where no two confidences differ.
 * @param of what a line is, as the table's column names it
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
  const x = shareAxis('coverage', 'share of the selections, surest first');
  const y = shareAxis('risk', 'wrong among them');
  const { color, strokeDash } = encoded;
  const point = drawn.every((line) => line.length <= MOST_POINTS) && { size: 25, filled: true };
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
          mark: { type: 'line', strokeWidth: 2, interpolate: 'step-before', point },
          encoding: { x, y, color, strokeDash, order: { field: 'coverage', type: 'quantitative' } },
        },
        ...labelLayers(ends, [0, 1], HEIGHT, encoded),
      ],
    },
    table: {
      columns: [of, 'confidence at least', 'share of the selections', 'wrong among them'],
      rows: lines.flat().map(({ series, confidence, coverage, risk }) => [series, confidence, coverage, risk]),
    },
  };
}

/** A point for each confidence there is, the surest first. */
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
