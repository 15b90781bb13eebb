import type { CurvesReport } from '../../statistics/curves/curves-report.js';
import { type BenchmarkReport, ownRule } from '../benchmark/headline.js';
import { alikeOf, linesByBest, type RuleLine } from '../benchmark/presets.js';
import {
  amount,
  columns,
  counted,
  percent,
  type Place,
  points,
  probability,
  type Section,
  type SectionTable,
  withInterval,
} from '../figures.js';
import { unknownPicks } from '../benchmark/sentences.js';
import { costSection, gapsSection, originsSection, verifiersSection } from './run-sections.js';

/**
 * The report's sections in reading order; those without numbers are left out.
 * @param place null = runs have no pages
 */
export function sectionsOf(report: BenchmarkReport, place: Place | null = null): readonly Section[] {
  const makers = [
    rulesSection,
    againstSection,
    costSection,
    verifiersSection,
    repositoriesSection,
    agentsSection,
    gapsSection,
    originsSection,
  ];
  return makers.map((make) => make(report, place)).filter((section) => section !== null);
}

/** The paired comparison with another set of runs. */
export function againstSection({ against, title }: BenchmarkReport): Section | null {
  if (against === null) return null;
  const { paired } = against;
  if (paired === null) {
    return {
      title: `Against ${against.title}`,
      text: ['The two have no labelled issue in common.'],
      plots: [],
      tables: [],
    };
  }
  const apart = `Excluded issues: ${paired.only_in_this} only in ${title}, ${paired.only_in_other} only in ${against.title}.`;
  return {
    title: `Against ${against.title}`,
    text: [
      `Issues in both: ${paired.issues_in_both}. ${apart} Differences are ${title} minus ${against.title}, issue by issue; p is McNemar's exact test, Holm-adjusted for the rows of the table.`,
    ],
    plots: [],
    tables: [
      {
        caption: 'Differences',
        columns: columns('of', '#difference', '#95% interval', '#only here', '#only there', '#p', '#detectable from'),
        rows: paired.rows.map((row) => [
          row.what,
          points(row.difference.value),
          pointsInterval(row.difference),
          String(row.only_this),
          String(row.only_other),
          probability(row.p_holm),
          points(row.minimum_detectable).slice(1),
        ]),
      },
    ],
  };
}

/** Results by repository. */
export function repositoriesSection({ repositories, headline }: BenchmarkReport): Section | null {
  const shown = ownRule(headline) ?? headline.winner;
  if (repositories.length === 0 || shown === null) return null;
  return {
    title: 'By repository',
    text: [],
    plots: ['repositories'],
    tables: [
      {
        caption: 'Repositories',
        columns: columns('repository', '#issues', '#candidates', '#Pass@1', `#returned right by ${shown}`, '#Pass@all'),
        rows: repositories.map((row) => {
          const picked = row.picked.find(({ preset }) => preset === shown);
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

/** Results by agent, if several shared the rollouts. */
function agentsSection({ agents }: BenchmarkReport): Section | null {
  if (agents.length === 0) return null;
  const ks = [...new Set(agents.flatMap(({ pass_at_k }) => Object.keys(pass_at_k)))].sort((a, b) => +a - +b);
  const text = 'Computed from each agent’s labelled candidates. If an issue has fewer than K, all of them are used.';
  return {
    title: 'By agent',
    text: [text],
    plots: [],
    tables: [
      {
        caption: 'Agents',
        columns: columns('agent', '#issues', '#candidates', ...ks.map((k) => `#Pass@${k}`)),
        rows: agents.map(({ agent, issues, candidates, pass_at_k }) => [
          agent,
          amount(issues),
          amount(candidates),
          ...ks.map((k) => percent(pass_at_k[k] ?? null)),
        ]),
      },
    ],
  };
}

/** Which selector is best, and by how much. */
export function rulesSection({ curves, returned, headline }: BenchmarkReport): Section | null {
  if (curves === null) return null;
  const k = String(curves.settings.ks.at(-1) ?? 1);
  const { issues, selector_sensitive, settings, comparisons } = curves;
  const lines = linesByBest(curves, ownRule(headline));
  return {
    title: 'Which selector wins',
    text: [
      `Best@${k} is the probability that the patch returned from ${k} random candidates of an issue is right, ties averaged; the upper limit is Pass@${k} = ${withInterval(curves.pass_at_k[k] ?? null)}. Issues with right and wrong candidates: ${selector_sensitive.issues} of ${issues} (${percent(selector_sensitive.share)}); on the others every rule gives the same result.`,
      `Intervals are 95%, ${settings.interval === 'bootstrap' ? `${settings.resamples} bootstrap resamples of issues, seed ${settings.seed}` : 'by normal approximation'}; Wilson’s if all or none are right. p is McNemar’s exact test on the returned patches; p (Holm) is adjusted for ${counted(comparisons.length, 'comparison')}.`,
      ...(lines.every(({ alike }) => alike.length === 0)
        ? []
        : ['Rules with the same results on every issue at every K share a line.']),
      ...(returned?.right == null
        ? []
        : [
            `The runs themselves, with their own presets, returned a right patch for ${returned.right.resolved} of ${counted(returned.right.issues, 'issue')}: ${withInterval({ value: returned.right.rate, ...returned.right })}${unknownPicks(returned)}.`,
          ]),
    ],
    plots: ['curves', 'headroom', 'risk'],
    tables: [
      {
        caption: `Rules at K = ${k}`,
        columns: columns(
          'rule',
          `#Best@${k}`,
          '#over random',
          '#p',
          '#p (Holm)',
          '#head-room recovered',
          '#returned right',
          '#Best@K where sensitive',
          'computed',
          'no data for',
        ),
        rows: lines.map((each) => ruleRow(each, k, curves)),
      },
      comparisonTable(curves),
    ],
  };
}

/** Comparisons other than with `random`; those are in the table of rules. */
function comparisonTable(curves: CurvesReport): SectionTable {
  return {
    caption: 'Other comparisons',
    columns: columns('rules', '#difference', '#95% interval', '#only first right', '#only second', '#p', '#p (Holm)'),
    rows: curves.comparisons
      .filter(({ a, b }) => ![a, b].includes('random') && !alikeOf(curves, a).includes(b))
      .map(({ a, b, difference, only_a, only_b, p, p_holm }) => [
        `${a} − ${b}`,
        points(difference.value),
        pointsInterval(difference),
        ...[amount(only_a), amount(only_b), probability(p), probability(p_holm)],
      ]),
  };
}

function pointsInterval({ low, high }: { readonly low: number | null; readonly high: number | null }): string {
  return low === null || high === null ? '–' : `${points(low)} to ${points(high)}`;
}

function ruleRow(each: RuleLine, k: string, curves: CurvesReport): readonly string[] {
  return [
    [each.preset, ...each.alike].join(' = '),
    withInterval(each.best_at_k[k] ?? null),
    ...overRandom(each.preset, curves),
    share(each.recovered_headroom?.value ?? null),
    `${each.picked.resolved}/${each.picked.issues}`,
    percent(each.best_where_sensitive),
    each.monte_carlo_error === null ? each.method : `${each.method} (±${percent(each.monte_carlo_error, 2)})`,
    each.stages_without_data.join(', '),
  ];
}

/** The difference, its p, and the adjusted p. */
function overRandom(preset: string, { comparisons }: CurvesReport): readonly string[] {
  const pair = comparisons.find(({ a, b }) => [a, b].includes(preset) && [a, b].includes('random'));
  if (pair === undefined || preset === 'random') return ['–', '–', '–'];
  const sign = pair.a === preset ? 1 : -1;
  return [points(sign * pair.difference.value), probability(pair.p), probability(pair.p_holm)];
}

/** Two decimals; never `-0.00`. */
function share(value: number | null): string {
  return value === null ? '–' : (Math.round(100 * value) / 100 + 0).toFixed(2);
}
