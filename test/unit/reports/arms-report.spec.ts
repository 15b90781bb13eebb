import { armsCsv, armSentences, armsPage, armsReport, armsText } from '../../../src/reports/benchmark/arms-report.js';
import fc from 'fast-check';
import { armsPlots } from '../../../src/reports/plots/arms-plots.js';
import { DARK, GREY, INK, placedLabels, SERIES } from '../../../src/reports/plots/plot.js';
import { wilson } from '../../../src/statistics/intervals/binomial.js';
import { type Outcome, WAITING } from '../../../src/reports/benchmark/arms.js';

const selected = (right: boolean): Outcome => ({
  ...WAITING,
  ...{ state: 'selected', candidate_id: 'c', right, k: 2, graded: 2, right_candidates: 1, executions: 3 },
});

const arm = (name: string, ...right: readonly boolean[]) => ({
  name,
  outcomes: new Map(right.map((each, index) => [`o__r-${index}`, selected(each)])),
});

describe('the report of several arms', () => {
  // The worse one first, and names that a JavaScript object would sort.
  const report = armsReport('t', [arm('16', false, false), arm('8', true, false)], ['o__r-0', 'o__r-1']);

  it("has the user's own first in words and tables, and the others against it, however they did", async () => {
    expect(armSentences(report).slice(0, 2)).toEqual([
      expect.stringMatching(/^16 selected a patch for 2 of 2 issues; 0 of the 2 /),
      expect.stringMatching(/^Against 8: −50\.0 points on 2 issues \(0 right only here, 1 only there; /),
    ]);
    const one = armSentences(armsReport('t', [arm('a', true), arm('b', false)], ['o__r-0'])).join('\n');
    expect(one).toContain('for 1 of 1 issue; 1 of the 1 with a known outcome is right');
    expect(one).toContain('(20.7 to 100.0), with Wilson’s 95% interval.');
    expect(one).toContain('+100.0 points on 1 issue (1 right only here, 0 only there; McNemar p = 1).');
    const arms = armsCsv(report)
      .split('\r\n')
      .slice(1, -1)
      .map((line) => line.split(',')[1]);
    expect(arms).toEqual(['16', '8', '16', '8']);
    const page = await armsPage(report);
    expect(page.indexOf('>16<')).toBeLessThan(page.indexOf('>8<'));
  });

  it('counts a selection with an unknown label apart, and says why it is unknown', async () => {
    const unknown = { ...selected(false), right: null, unknown_because: 'timed\nout', graded: 1, unknown: 1 };
    const outcomes = new Map<string, Outcome>([
      ['o__r-0', unknown],
      ['o__r-1', selected(true)],
      ['o__r-2', { ...selected(true), right: null, graded: 0, right_candidates: 0 }],
    ]);
    const made = armsReport('t', [{ name: 'a', outcomes }, arm('b', true, true, true)], [...outcomes.keys()]);
    expect(made.arms[0]).toMatchObject({
      ...{ right: { resolved: 1, issues: 1 }, unknown: 1, unknown_candidates: 1, ungraded_candidates: 3 },
    });
    expect(made.comparisons).toMatchObject([{ issues_in_both: 1 }]);
    const said =
      '3 candidates of a have no known label (1 graded, with an unknown label), among them the selected one in 1 issue, and are excluded from all rates.';
    expect(armSentences(made)).toContain(said);
    expect(armsText(made)).toContain(said);
    const rows = armsCsv(made).split('\r\n');
    expect(rows.slice(1, 6).map((line) => line.split(',')[3])).toEqual(['unknown', 'yes', 'yes', 'yes', '']);
    expect(await armsPage(made)).toMatch(/Unknown labels[^]*o__r-0[^]*timed.{1,8}out/);
  });

  it('says in a terminal why issues have no selection', () => {
    const failed: Outcome = { ...WAITING, state: 'failed', code: 'image-missing', reason: 'Image "x:1"\nis gone.' };
    const text = armsText(armsReport('t', [{ name: 'a', outcomes: new Map([['o__r-0', failed]]) }], ['o__r-0']));
    expect(text).toMatch(/\n\n1 issue of a without a selection: image-missing, Image "x:1".{1,2}is gone\.$/);
    expect(armsText(report)).not.toContain('without a selection');
  });

  it('draws what the arms select from and what they select, and how much their confidence knows', () => {
    const sure = (right: boolean, confidence: number | null): Outcome => ({ ...selected(right), confidence });
    const outcomes = new Map(
      [sure(true, 0.9), sure(true, 0.8), sure(false, 0.8), sure(false, 0.1), sure(true, null)].map((each, index) => [
        `o__r-${index}`,
        each,
      ]),
    );
    const [curves, risk] = armsPlots(armsReport('t', [{ name: 'a', outcomes }], [...outcomes.keys()]));
    expect(curves?.table.rows).toEqual([
      ['a', 1, 'Pass@K', 0.5, null, null],
      ['a', 2, 'Pass@K', 1, null, null],
      ['a', 2, 'selected', 0.6, wilson(3, 5).low, wilson(3, 5).high],
    ]);
    expect(risk?.table.rows).toEqual([
      ['a', 0.9, 0.25, 0],
      ['a', 0.8, 0.75, 1 / 3],
      ['a', 0.1, 1, 0.5],
    ]);
    expect(armsPlots(armsReport('t', [arm('a')], ['o__r-0']))).toEqual([]);
  });
});

describe('labels beside the ends of lines', () => {
  it('never lie on each other, stay inside, and keep the order of their lines', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(share, { minLength: 1, maxLength: 8 }), (values) => {
        const placed = placedLabels(
          values.map((value) => ({ value })),
          [0, 1],
          300,
        );
        for (const [index, { at, value }] of placed.entries()) {
          const next = placed[index + 1];
          expect(at).toBeLessThanOrEqual(1);
          if (next === undefined) continue;
          expect(value).toBeLessThanOrEqual(next.value);
          expect(next.at - at).toBeGreaterThan(14.99 / 300);
        }
      }),
    );
  });
});

/** Machado, Oliveira and Fernandes 2009, of the whole deficiency, on linear light. */
const SEEN = {
  all: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
};

describe('the colours of plots', () => {
  const light = [INK, GREY, ...SERIES];
  const linear = (colour: string): number[] =>
    [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = linear(colour);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (one: string, other: string): number => {
    const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  /** CIE L*a*b*, D65. */
  const lab = (colour: string, seen: readonly number[]): number[] => {
    const light = linear(colour);
    const [r = 0, g = 0, b = 0] = [0, 3, 6].map((row) =>
      Math.min(
        1,
        Math.max(
          0,
          light.reduce((sum, part, index) => sum + part * (seen[row + index] ?? 0), 0),
        ),
      ),
    );
    const f = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
    const [x, y, z] = [
      f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505),
      f(0.2126 * r + 0.7152 * g + 0.0722 * b),
      f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089),
    ];
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
  };

  it.each([
    ['light', light, '#ffffff'],
    ['dark', light.map((colour) => DARK[colour] ?? ''), '#16181c'],
  ])('stand out from %s paper and from each other, for colour-blind people too', (_, colours, paper) => {
    for (const colour of colours) expect([colour, contrast(colour, paper) >= 3]).toEqual([colour, true]);
    const pairs = colours.flatMap((one, index) => colours.slice(index + 1).map((other) => [one, other] as const));
    for (const [name, seen] of Object.entries(SEEN)) {
      for (const [one, other] of pairs) {
        const [a, b] = [lab(one, seen), lab(other, seen)];
        const apart = Math.hypot(...a.map((part, index) => part - (b[index] ?? 0)));
        expect([name, one, other, apart >= 8]).toEqual([name, one, other, true]);
      }
    }
  });
});
