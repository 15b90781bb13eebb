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

interface PlotTable {
  readonly columns: readonly string[];
  /** As many cells as columns; a number is right-aligned and not rounded. */
  readonly rows: readonly (readonly (string | number | null)[])[];
}

/** Ink and paper of the plots; the page turns each into its dark counterpart. */
export const INK = '#222222';
export const GREY = '#767676';
const GRID = '#dddddd';
/** After Okabe and Ito: at least 3:1 on paper, and told apart by colour-blind readers, by lightness also in print. */
export const SERIES = ['#005a9c', '#d55e00', '#10a886', '#a8327f', '#7a5c00'] as const;
/** The same in the dark, in this order; ink, grey and grid too. */
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
/** Colour is never alone: every series has a dash and a shape of its own. */
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

/** A share of 1 along an axis. @param domain what of 0..1 is drawn */
export function shareAxis(field: string, title: string, domain: readonly [number, number] = [0, 1]) {
  return { field, type: QUANTITATIVE, title, axis: { format: '%' }, scale: { domain: [...domain] } };
}

/** K along an axis, each step a doubling, with a mark at each of `ks`. */
export function kAxis(ks: readonly number[]) {
  return {
    field: 'k',
    type: QUANTITATIVE,
    scale: { type: 'log' as const, base: 2, nice: false },
    axis: { values: [...ks], title: 'K, candidates per issue', format: 'd' },
  };
}

/**
 * Same field, same order in all three, so that one legend shows colour, dash and shape together.
 * @param legendPlace null = lines are named where they end
 */
export function encodeSeries(
  field: string,
  names: readonly string[],
  fixed: Readonly<Record<string, string>> = {},
  legendPlace: 'bottom' | 'bottom-right' | null = null,
) {
  // A name may be one that every object has.
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

/** Where a line ends. */
interface LineEnd {
  readonly series: string;
  readonly x: number;
  readonly value: number;
  /** What is written beside it. */
  readonly text: string;
}

/** Pixels between two labels, from middle to middle. */
const GAP = 15;

/** Places for labels beside the ends of lines, none on another: as near to its own end as the others let it. */
export function placedLabels<End extends Pick<LineEnd, 'value'>>(
  ends: readonly End[],
  [low, high]: readonly [number, number],
  height: number,
): readonly (End & { readonly at: number })[] {
  const gap = (GAP * (high - low)) / height;
  // From below; of equal ones the first stands on top.
  const sorted = ends.toReversed().sort((a, b) => a.value - b.value);
  const places: number[] = [];
  for (const { value } of sorted) places.push(Math.max(value, (places.at(-1) ?? -Infinity) + gap));
  // What was pushed over the top comes down again, with those below it.
  let limit = high;
  for (let index = places.length - 1; index >= 0; index -= 1) {
    places[index] = Math.min(places[index] ?? 0, limit);
    limit = (places[index] ?? 0) - gap;
  }
  return sorted.map((end, index) => ({ ...end, at: places[index] ?? end.value }));
}

type Encoded = ReturnType<typeof encodeSeries>;

/** Each line's sign and name beside its end, instead of a legend far away. */
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

/** A share's axis around values, in steps of 5 %. */
export function shareDomain(values: readonly number[]): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return [Math.max(0, Math.floor(low * 20) / 20), Math.min(1, Math.ceil(high * 20) / 20)];
}
