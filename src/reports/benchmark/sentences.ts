import { listed } from '../../core/hostile-text.js';
import { amount, counted, dollars, percent, points, pValue, unknownLabelsSentences, withInterval } from '../figures.js';
import type { BenchmarkReport, Lead, Own, Returned } from './headline.js';

/** The headline in words: which selector wins, by how much, whether that may be chance, and what it costs. */
export function sentences(report: BenchmarkReport): readonly string[] {
  const { headline, issues_without_labels, unknown_labels } = report;
  const { winner, runner_up, over_random } = headline;
  if (winner === null) return sentencesWithoutWinner(report);
  const own = headline.own?.preset === winner ? null : headline.own;
  return [
    ...(own === null ? [] : ownSentences(own, report)),
    winnerSentence(report, own),
    ...unknownLabelsSentences(unknown_labels),
    ...(own?.best_at_k === undefined || own.best_at_k === null ? leadSentences(over_random, runner_up) : []),
    ...costSentence(headline),
    ...(issues_without_labels === 0 ? [] : [withoutLabels(issues_without_labels)]),
    ...unfinishedSentence(report),
  ];
}

/** Without a known label, or without rules. */
function sentencesWithoutWinner(report: BenchmarkReport): readonly string[] {
  const { returned, unknown_labels, curves } = report;
  const none = unknown_labels.candidates === 0 ? 'No labels were given' : 'No label is known';
  const said = 'It shows what was selected, the evidence and the cost.';
  return [
    ...(curves === null ? [`${none}, so this report cannot tell right from wrong. ${said}`] : []),
    ...unknownLabelsSentences(unknown_labels),
    ...(returned === null
      ? []
      : [`${returned.runs - returned.without_patch} of ${counted(returned.runs, 'run')} returned a patch.`]),
    ...unfinishedSentence(report),
  ];
}

/** To end a sentence on how many of the returned patches are right; empty if the label of each is known. */
export function unknownPicks({ unknown_labels }: Returned): string {
  if (unknown_labels === 0) return '';
  return `; ${counted(unknown_labels, 'returned patch', 'returned patches')} without a known label ${unknown_labels === 1 ? 'is' : 'are'} excluded`;
}

function withoutLabels(issues: number): string {
  return issues === 1
    ? '1 issue has no label and is excluded from all rates.'
    : `${issues} issues have no label and are excluded from all rates.`;
}

function unfinishedSentence({ unfinished }: BenchmarkReport): readonly string[] {
  if (unfinished.length === 0) return [];
  const which = unfinished.length === 1 ? '1 unfinished run is' : `${unfinished.length} unfinished runs are`;
  return [`${which} excluded: ${listed(unfinished)}.`];
}

function leadSentences(over_random: Lead | null, runner_up: Lead | null): readonly string[] {
  return [
    ...(over_random === null ? [] : [leadSentence(over_random, RANDOM)]),
    ...(runner_up === null ? [] : [leadSentence(runner_up, `the runner-up, ${runner_up.preset}`)]),
  ];
}

/** About the user's own rule, if another one is best. */
function ownSentences(own: Own, { headline, curves, returned }: BenchmarkReport): readonly string[] {
  const { preset, best_at_k, over_random, over_winner } = own;
  if (best_at_k === null) {
    if (returned?.right == null) return [];
    const { resolved, issues, rate, low, high } = returned.right;
    return [
      `${preset} returned a right patch for ${resolved} of ${counted(issues, 'issue')}, ${withInterval({ value: rate, low, high })}${unknownPicks(returned)}.`,
    ];
  }
  return [
    `${preset} selects a right patch for ${shareOf({ ...headline, ...own }, curves)}.`,
    ...(over_random === null ? [] : [leadSentence(over_random, RANDOM)]),
    ...(over_winner === null ? [] : [leadSentence(over_winner, over_winner.preset)]),
  ];
}

/** @param own the user's own rule, if it is not the winner */
function winnerSentence({ headline, curves }: BenchmarkReport, own: Own | null): string {
  const { winner, best_at_k } = headline;
  if (own === null || own.best_at_k === null) return `The best rule is ${winner ?? ''}: ${shareOf(headline, curves)}.`;
  return `The best of all ${curves?.presets.length ?? 0} rules is ${winner ?? ''}: ${percent(best_at_k?.value)}.`;
}

type Share = Pick<BenchmarkReport['headline'], 'best_at_k' | 'k' | 'recovered_headroom' | 'pass_at_1' | 'pass_at_k'>;

function shareOf(
  { best_at_k, k, recovered_headroom, pass_at_1, pass_at_k }: Share,
  curves: BenchmarkReport['curves'],
): string {
  const [one, all] = [`Pass@1 (${percent(pass_at_1)})`, `Pass@${k ?? 1} (${percent(pass_at_k)}, a perfect selector)`];
  const value = `${percent(best_at_k?.value)} of ${counted(curves?.issues ?? 0, 'issue')} at K = ${k ?? 1}`;
  if (recovered_headroom === null) return value;
  if (recovered_headroom < 0) return `${value}, less than ${one}; the maximum is ${all}`;
  return `${value}, ${percent(recovered_headroom, 0)} of the way from ${one} to ${all}`;
}

const RANDOM = 'a random pick among the patches that change source code';

function leadSentence(lead: Lead, over: string): string {
  const { difference, p, p_holm, comparisons, may_be_chance, minimum_detectable } = lead;
  if (difference === 0) return `It is equal to ${over}.`;
  const detectable = (100 * minimum_detectable).toFixed(1);
  // If all issues differ by the same amount, the deviation is 0 and implies no detectable difference.
  const from =
    detectable === '0.0' ? '' : `; this many issues can detect a true difference of about ${detectable} points`;
  const verdict = may_be_chance ? `may be due to chance${from}` : 'is significant';
  const lies =
    difference < 0
      ? `It is ${points(-difference).slice(1)} behind ${over}, which`
      : `Its lead over ${over}, ${points(difference)},`;
  const adjusted = comparisons === 1 ? '' : `; ${pValue(p_holm)} Holm-adjusted for ${comparisons} comparisons`;
  return `${lies} ${verdict} (McNemar ${pValue(p)}${adjusted}).`;
}

function costSentence({ usd_per_issue, tokens_per_issue }: BenchmarkReport['headline']): readonly string[] {
  if (usd_per_issue !== null) return [`Mean cost per issue: ${dollars(usd_per_issue)}.`];
  if (tokens_per_issue === null) return [];
  return [
    tokens_per_issue === 0
      ? 'All model answers came from the store, so these runs used no paid tokens.'
      : `Mean tokens per issue: ${amount(Math.round(tokens_per_issue))}.`,
  ];
}
