import { encodeSeries, INK, type LayerSpec } from './plot.js';

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
