import type { CurvesReport, PresetReport } from '../../statistics/curves/curves-report.js';
import type { BenchmarkReport } from '../benchmark/benchmark-report.js';
import { presetsByBest } from '../benchmark/presets.js';
import { amount, percent, points, probability, withInterval } from '../figures.js';
import { costSection, gapsSection, originsSection, verifiersSection } from './run-sections.js';
import { columns, type Section } from './section.js';

/** The report's parts in reading order; those without numbers are left out. */
export function sectionsOf(report: BenchmarkReport): readonly Section[] {
  const makers = [
    rulesSection,
    againstSection,
    costSection,
    verifiersSection,
    repositoriesSection,
    gapsSection,
    originsSection,
  ];
  return makers.map((make) => make(report)).filter((section) => section !== null);
}

/** The paired comparison with another set of runs. */
export function againstSection({ against, title }: BenchmarkReport): Section | null {
  if (against === null) return null;
  const { paired } = against;
  if (paired === null) {
    return { title: `Against ${against.title}`, text: ['No labelled issue is in both.'], plots: [], tables: [] };
  }
  const apart = `${paired.only_in_this} issues are only in ${title}, ${paired.only_in_other} only in the other one; they are left out.`;
  return {
    title: `Against ${against.title}`,
    text: [
      `${paired.issues_in_both} issues are in both. ${apart} Differences are ${title} minus ${against.title}, issue by issue; p is McNemar's exact test, Holm-adjusted for the rows of the table.`,
    ],
    plots: [],
    tables: [
      {
        caption: 'Differences',
        columns: columns('of', '#difference', '#95 % interval', '#only here', '#only there', '#p', '#detectable from'),
        rows: paired.rows.map((row) => [
          row.what,
          points(row.difference.value),
          row.difference.low === null || row.difference.high === null
            ? '–'
            : `${points(row.difference.low)} to ${points(row.difference.high)}`,
          String(row.only_this),
          String(row.only_other),
          probability(row.p_holm),
          points(row.minimum_detectable).slice(1),
        ]),
      },
    ],
  };
}

/** The same by repository. */
export function repositoriesSection({ repositories, headline: { winner } }: BenchmarkReport): Section | null {
  if (repositories.length === 0 || winner === null) return null;
  return {
    title: 'By repository',
    text: [],
    plots: ['repositories'],
    tables: [
      {
        caption: 'Repositories',
        columns: columns(
          'repository',
          '#issues',
          '#candidates',
          '#Pass@1',
          `#returned right by ${winner}`,
          '#Pass@all',
        ),
        rows: repositories.map((row) => {
          const picked = row.picked.find(({ preset }) => preset === winner);
          return [
            row.repo,
            amount(row.issues),
            amount(row.candidates),
            percent(row.pass_at_1),
            picked === undefined ? '–' : withInterval({ value: picked.rate, ...picked }),
            percent(row.pass_at_all),
          ];
        }),
      },
    ],
  };
}

/** Which selector is best, and by how much. */
export function rulesSection({ curves, returned }: BenchmarkReport): Section | null {
  if (curves === null) return null;
  const k = String(curves.settings.ks.at(-1) ?? 1);
  const { issues, selector_sensitive, settings, comparisons } = curves;
  return {
    title: 'Which selector wins',
    text: [
      `Best@${k} is the chance that the patch returned from ${k} random candidates of an issue is right, ties averaged; the upper limit is Pass@${k} = ${withInterval(curves.pass_at_k[k] ?? null)}. Only ${selector_sensitive.issues} of ${issues} issues (${percent(selector_sensitive.share)}) have right and wrong candidates; the others come out the same whatever selects.`,
      `Intervals are 95 %, ${settings.interval === 'bootstrap' ? `${settings.resamples} bootstrap resamples of issues, seed ${settings.seed}` : 'by normal approximation'}; p is McNemar's exact test on the returned patches, Holm-adjusted for the ${comparisons.length} comparisons of this report.`,
      ...(returned?.right == null
        ? []
        : [
            `The runs themselves, by the presets they were made with, returned a right patch for ${returned.right.resolved} of ${returned.right.issues} issues (${withInterval({ value: returned.right.rate, ...returned.right })}).`,
          ]),
    ],
    plots: ['curves', 'headroom'],
    tables: [
      {
        caption: `Rules at K = ${k}`,
        columns: columns(
          'rule',
          `#Best@${k}`,
          '#over random',
          '#p',
          '#head-room recovered',
          '#returned right',
          '#where it matters',
          'computed',
          'no data for',
        ),
        rows: presetsByBest(curves).map((each) => ruleRow(each, k, curves)),
      },
    ],
  };
}

function ruleRow(each: PresetReport, k: string, { comparisons }: CurvesReport): readonly string[] {
  const pair = comparisons.find(({ a, b }) => [a, b].includes(each.preset) && [a, b].includes('random'));
  const isOther = pair !== undefined && each.preset !== 'random';
  const sign = pair?.a === each.preset ? 1 : -1;
  return [
    each.preset,
    withInterval(each.best_at_k[k] ?? null),
    isOther ? points(sign * pair.difference.value) : '–',
    isOther ? probability(pair.p_holm) : '–',
    share(each.recovered_headroom?.value ?? null),
    `${each.picked.resolved}/${each.picked.issues}`,
    percent(each.best_where_sensitive),
    each.monte_carlo_error === null ? each.method : `${each.method} (±${percent(each.monte_carlo_error, 2)})`,
    each.stages_without_data.join(', '),
  ];
}

/** To two places, without a zero that has a sign. */
function share(value: number | null): string {
  return value === null ? '–' : (Math.round(100 * value) / 100 + 0).toFixed(2);
}
