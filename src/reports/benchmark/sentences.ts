import { listed } from '../../core/visible.js';
import { dollars, amount, percent, points, probability } from '../figures.js';
import type { BenchmarkReport } from './benchmark-report.js';
import type { Lead } from './headline.js';

/** The headline in words: which selector wins, by how much, whether that is noise, what it costs. */
export function sentences(report: BenchmarkReport): readonly string[] {
  const { headline, returned, issues_without_labels } = report;
  const { winner, runner_up, over_random } = headline;
  if (winner === null) {
    return [
      'No labels were given, so nothing is known of right and wrong: this report tells what was selected, on what evidence, and what it took.',
      ...(returned === null
        ? []
        : [`${returned.runs - returned.without_patch} of ${returned.runs} runs returned a patch.`]),
      ...unfinishedSentence(report),
    ];
  }
  return [
    winnerSentence(report),
    ...(over_random === null ? [] : [leadSentence(over_random, 'a random pick among the patches that change source')]),
    ...(runner_up === null ? [] : [leadSentence(runner_up, `the next best, ${runner_up.preset}`)]),
    ...costSentence(headline),
    ...(issues_without_labels === 0 ? [] : [`${issues_without_labels} issues have no label and are in no rate.`]),
    ...unfinishedSentence(report),
  ];
}

function unfinishedSentence({ unfinished }: BenchmarkReport): readonly string[] {
  if (unfinished.length === 0) return [];
  const which =
    unfinished.length === 1 ? '1 run that had not ended is' : `${unfinished.length} runs that had not ended are`;
  return [`${which} left out: ${listed(unfinished)}.`];
}

function winnerSentence({ headline, curves }: BenchmarkReport): string {
  const { winner, best_at_k, k, recovered_headroom, pass_at_1, pass_at_k } = headline;
  const way = `of the way from Pass@1 (${percent(pass_at_1)}) to Pass@${k ?? 1} (${percent(pass_at_k)}), a perfect selector's`;
  const share = recovered_headroom === null ? '' : `, ${percent(recovered_headroom, 0)} ${way}`;
  return `${winner ?? ''} selects best: ${percent(best_at_k?.value)} of ${curves?.issues ?? 0} issues at K = ${k ?? 1}${share}.`;
}

function leadSentence(lead: Lead, over: string): string {
  const { difference, p_holm, may_be_chance, minimum_detectable } = lead;
  if (difference === 0) return `It is level with ${over}.`;
  const verdict = may_be_chance
    ? `may be chance; with so many issues a true difference shows from about ${(100 * minimum_detectable).toFixed(1)} points`
    : 'is more than chance';
  return `Its lead over ${over}, ${points(difference)}, ${verdict} (McNemar, Holm-adjusted p ${probability(p_holm).startsWith('<') ? '' : '= '}${probability(p_holm)}).`;
}

function costSentence({ usd_per_issue, tokens_per_issue }: BenchmarkReport['headline']): readonly string[] {
  if (usd_per_issue !== null) return [`An issue cost ${dollars(usd_per_issue)} on average.`];
  if (tokens_per_issue === null) return [];
  return [
    tokens_per_issue === 0
      ? 'Every model answer came from the store, so these runs paid for no tokens.'
      : `An issue took ${amount(Math.round(tokens_per_issue))} tokens on average.`,
  ];
}
