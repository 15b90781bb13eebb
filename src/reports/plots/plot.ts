import type { Config, TopLevelSpec } from 'vega-lite';

/** One layer of a layered plot. */
export type LayerSpec = Extract<TopLevelSpec, { layer: unknown }>['layer'][number];

/** A chart's specification, its explanation and its numbers. */
export interface Plot {
  /** File name without extension. */
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

interface PlotTable {
  readonly columns: readonly string[];
  /** As many cells as columns; a number is right-aligned and not rounded. */
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** Foreground and background colours; the page replaces each by its dark counterpart. */
export const INK = '#222222';
export const GREY = '#767676';
const GRID = '#dddddd';
/**
 * After Okabe and Ito: contrast of at least 3:1 on white, distinguishable by colour-blind readers, and by lightness in print.
 */
export const SERIES = ['#005a9c', '#d55e00', '#10a886', '#a8327f', '#7a5c00'] as const;
/** The dark counterparts of all plot colours. */
export const DARK: Readonly<Record<string, string>> = {
  [INK]: '#e6e6e6',
  [GREY]: '#8f8f8f',
  [GRID]: '#3a3d42',
  [SERIES[0]]: '#4aa3f0',
  [SERIES[1]]: '#ff8c42',
  [SERIES[2]]: '#17c08f',
  [SERIES[3]]: '#f5a8de',
  [SERIES[4]]: '#9c7a1e',
};
/** Series are never distinguished by colour only: each also has a dash and a shape. */
const DASHES = [
  [1, 0],
  [6, 3],
  [2, 2],
  [8, 3, 2, 3],
  [4, 2],
  [10, 4],
];
const SHAPES = ['circle', 'square', 'triangle-up', 'diamond', 'triangle-down', 'cross'];

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

const QUANTITATIVE = 'quantitative' as const;

/**
 * An axis for a share, 0..1.
 * @param domain the part of 0..1 that is drawn
 */
export function shareAxis(field: string, title: string, domain: readonly [number, number] = [0, 1]) {
  return { field, type: QUANTITATIVE, title, axis: { format: '%' }, scale: { domain: [...domain] } };
}

/** A logarithmic axis for K (base 2), with a tick at each of `ks`. */
export function kAxis(ks: readonly number[]) {
  return {
    field: 'k',
    type: QUANTITATIVE,
    scale: { type: 'log' as const, base: 2, nice: false },
    axis: { values: [...ks], title: 'K, candidates per issue', format: 'd' },
  };
}

/**
 * Same field and order in all three, so that one legend combines colour, dash and shape.
 * @param legendPlace null = lines are labelled at their ends
 */
export function encodeSeries(
  field: string,
  names: readonly string[],
  fixed: Readonly<Record<string, string>> = {},
  legendPlace: 'bottom' | 'bottom-right' | null = null,
) {
  // A map, since a name may equal a property that every object has.
  const own = new Map(Object.entries(fixed));
  const free = names.filter((name) => !own.has(name));
  const position = (name: string): number => free.indexOf(name);
  const at = <T>(list: readonly T[], index: number): T | undefined => list[index % list.length];
  const scale = <T>(range: readonly (T | undefined)[]) => ({ domain: [...names], range: [...range] as T[] });
  const colours = names.map((name) => own.get(name) ?? at(SERIES, position(name)));
  const legend =
    legendPlace === null ? null : { title: null, orient: legendPlace, symbolSize: 220, symbolStrokeWidth: 2 };
  return {
    color: { field, type: 'nominal', scale: scale(colours), legend },
    strokeDash: { field, type: 'nominal', scale: scale(names.map((_, index) => at(DASHES, index))), legend },
    shape: { field, type: 'nominal', scale: scale(names.map((_, index) => at(SHAPES, index))), legend },
  } as const;
}

/** The end of a line. */
interface LineEnd {
  readonly series: string;
  readonly x: number;
  readonly value: number;
  /** The label next to it. */
  readonly text: string;
}

/** Pixels between the middles of two labels. */
const GAP = 15;

/** Positions of labels at the ends of lines, without overlap, each as close to its end as possible. */
export function placedLabels<End extends Pick<LineEnd, 'value'>>(
  ends: readonly End[],
  [low, high]: readonly [number, number],
  height: number,
): readonly (End & { readonly at: number })[] {
  const gap = (GAP * (high - low)) / height;
  // Bottom to top; of equal values, the first ends up on top.
  const sorted = ends.toReversed().sort((a, b) => a.value - b.value);
  const places: number[] = [];
  for (const { value } of sorted) places.push(Math.max(value, (places.at(-1) ?? -Infinity) + gap));
  // Labels pushed above the top are moved down again, and those below them too.
  let limit = high;
  for (let index = places.length - 1; index >= 0; index -= 1) {
    places[index] = Math.min(places[index] ?? 0, limit);
    limit = (places[index] ?? 0) - gap;
  }
  return sorted.map((end, index) => ({ ...end, at: places[index] ?? end.value }));
}

type Encoded = ReturnType<typeof encodeSeries>;

/** Labels each line with its symbol and name at its end, instead of a legend. */
export function labelLayers(
  ends: readonly LineEnd[],
  domain: readonly [number, number],
  height: number,
  { color, shape }: Pick<Encoded, 'color' | 'shape'>,
): LayerSpec[] {
  const values = placedLabels(ends, domain, height);
  const encoding = {
    x: { field: 'x', type: 'quantitative' },
    y: { field: 'at', type: 'quantitative' },
  } as const;
  return [
    {
      data: { values: [...values] },
      mark: { type: 'point', filled: true, size: 45, opacity: 1, xOffset: 14, clip: false },
      encoding: { ...encoding, color, shape },
    },
    {
      data: { values: [...values] },
      mark: { type: 'text', align: 'left', baseline: 'middle', dx: 22, limit: 280, fontSize: 11, color: INK },
      encoding: { ...encoding, text: { field: 'text', type: 'nominal' } },
    },
  ];
}

/** Domain of a share axis that includes the values, in steps of 5%. */
export function shareDomain(values: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return [Math.max(0, Math.floor(low * 20) / 20), Math.min(1, Math.ceil(high * 20) / 20)];
}
