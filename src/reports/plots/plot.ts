import type { Config, TopLevelSpec } from 'vega-lite';

/** One layer of a layered plot. */
export type LayerSpec = Extract<TopLevelSpec, { layer: unknown }>['layer'][number];

/** A picture, what it says, and the numbers behind it. */
export interface Plot {
  /** File name without its ending. */
  readonly name: string;
  readonly title: string;
  /** How to read it, one or two sentences. */
  readonly note: string;
  readonly spec: TopLevelSpec;
  readonly table: PlotTable;
}

/** A plot with its picture. */
export interface DrawnPlot {
  readonly plot: Plot;
  readonly svg: string;
}

export interface PlotTable {
  readonly columns: readonly string[];
  /** As many cells as columns; a number is right-aligned and not rounded. */
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** Ink and paper of the plots; the page turns each into its dark counterpart. */
export const INK = '#222222';
export const GREY = '#767676';
export const GRID = '#dddddd';
/** Okabe and Ito's colours without the yellow: told apart by colour-blind readers, and by lightness in print. */
export const SERIES = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00'] as const;
/** Colour is never alone: every series has a dash and a shape of its own. */
export const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [4, 2],
  [10, 4],
];
export const SHAPES = ['circle', 'square', 'triangle-up', 'diamond', 'triangle-down', 'cross'];

export const THEME: Config = {
  background: 'transparent',
  font: 'DejaVu Sans, Verdana, sans-serif',
  view: { stroke: GRID },
  axis: {
    gridColor: GRID,
    domainColor: GREY,
    tickColor: GREY,
    labelColor: INK,
    titleColor: INK,
    titleFontWeight: 'normal',
    labelFontSize: 11,
    titleFontSize: 12,
  },
  legend: {
    labelColor: INK,
    titleColor: INK,
    labelFontSize: 11,
    labelLimit: 260,
    symbolSize: 70,
    symbolStrokeWidth: 1,
  },
};

/** Same field, same order in all three, so that one legend shows colour, dash and shape together. */
export function encodeSeries(field: string, names: readonly string[], fixed: Readonly<Record<string, string>> = {}) {
  const free = names.filter((name) => fixed[name] === undefined);
  const position = (name: string): number => free.indexOf(name);
  const at = <T>(list: readonly T[], index: number): T | undefined => list[index % list.length];
  const scale = <T>(range: readonly (T | undefined)[]) => ({ domain: [...names], range: [...range] as T[] });
  const colours = names.map((name) => fixed[name] ?? at(SERIES, position(name)));
  // The bands' faintness is not the lines'.
  const legend = { title: null, symbolOpacity: 1 };
  return {
    color: { field, type: 'nominal', scale: scale(colours), legend },
    strokeDash: { field, type: 'nominal', scale: scale(names.map((_, index) => at(DASHES, index))), legend },
    shape: { field, type: 'nominal', scale: scale(names.map((_, index) => at(SHAPES, index))), legend },
  } as const;
}
