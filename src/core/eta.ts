/** Seconds until the rest is done: the most likely value, and a range that holds in about four of five cases. */
export interface Eta {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

const FEWEST_GAPS = 3;
/** Standard deviations around the mean that hold four fifths of a normal distribution. */
const FOUR_FIFTHS = 1.28;

/**
 * Estimates from the pace of the latest completions. The variance of the gaps between them gives the width of the
 * range.
 * @param endings completion times in ms, in any order
 * @param rest how many are still to complete
 * @returns null before there are enough completions
 */
export function etaOf(endings: readonly number[], rest: number, now: number): Eta | null {
  const times = [...endings].sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, index) => (time - (times[index] ?? time)) / 1000);
  if (gaps.length < FEWEST_GAPS || rest === 0) return null;
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / (gaps.length - 1);
  const since = Math.min(mean, (now - (times.at(-1) ?? now)) / 1000);
  const likely = Math.max(0, rest * mean - since);
  const spread = mean === 0 ? 0 : (Math.sqrt(variance) / mean) * Math.sqrt(1 / gaps.length + 1 / rest) * FOUR_FIFTHS;
  return { low: likely * Math.exp(-spread), likely, high: likely * Math.exp(spread) };
}

/** `about 12 min left (9 to 16)`; at least one unit, never 0. */
export function etaText({ low, likely, high }: Eta): string {
  const [size, unit] = likely < 120 ? [1, 's'] : likely < 7200 ? [60, 'min'] : [3600, 'h'];
  const of = (seconds: number): string => (Math.max(size, seconds) / size).toFixed(size === 3600 ? 1 : 0);
  const spread = high <= 1 ? '' : ` (${of(low)} to ${of(high)})`;
  return `about ${of(likely)} ${unit} left${spread}`;
}
