import { etaOf, etaText } from '../../../../src/core/async/time.js';

const every = (ms: number, times: number): number[] => Array.from({ length: times }, (_, index) => index * ms);

describe('the time that is left', () => {
  it('follows from the pace, and is known before the fourth ending to nobody', () => {
    expect(etaOf(every(10_000, 3), 5, 20_000)).toBeNull();
    expect(etaOf(every(10_000, 5), 0, 40_000)).toBeNull();
    expect(etaOf(every(10_000, 5), 6, 40_000)).toEqual({ low: 60, likely: 60, high: 60 });
    // Half of the next one's time is over already.
    expect(etaOf(every(10_000, 5), 6, 45_000)?.likely).toBe(55);
  });

  it('is the less sure the less even the pace is, and the fewer have ended', () => {
    const width = (endings: readonly number[]): number => {
      const { low, high } = etaOf(endings, 100, endings.at(-1) ?? 0) ?? { low: 0, high: 0 };
      return high / low;
    };
    const uneven = every(10_000, 40).map((time, index) => time + (index % 2) * 8_000);
    expect(width(uneven)).toBeGreaterThan(width(every(10_000, 40)));
    expect(width(uneven.slice(0, 6))).toBeGreaterThan(width(uneven));
  });

  it('is told in a unit that fits', () => {
    expect(etaText({ low: 0, likely: 0.4, high: 0.6 })).toBe('about 1 s left');
    expect(etaText({ low: 0, likely: 0.4, high: 3 })).toBe('about 1 s left (1 to 3)');
    expect(etaText({ low: 40, likely: 60, high: 90 })).toBe('about 60 s left (40 to 90)');
    expect(etaText({ low: 1_200, likely: 1_800, high: 2_400 })).toBe('about 30 min left (20 to 40)');
    expect(etaText({ low: 9_000, likely: 10_800, high: 14_400 })).toBe('about 3.0 h left (2.5 to 4.0)');
  });
});
