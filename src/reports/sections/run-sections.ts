import type { BenchmarkReport } from '../benchmark/headline.js';
import type { UnknownLabelsReport } from '../../statistics/curves/unknown-labels.js';
import {
  amount,
  type Column,
  columns,
  counted,
  dollars,
  percent,
  type Place,
  type Section,
  type SectionTable,
} from '../figures.js';

/** Tokens, cost and time of the runs. */
export function costSection({ spending, curves }: BenchmarkReport): Section | null {
  if (spending === null) return null;
  const { models, stages, cost_usd, runs, runs_with_cost, tokens } = spending;
  const equal = curves?.equal_best ?? null;
  return {
    title: 'What it costs',
    text: [
      `${counted(runs, 'run')}${cost_usd === null ? '; prices unknown' : `, ${dollars(cost_usd)} for the ${runs_with_cost} with known prices`}. Tokens: ${amount(Math.round(tokens.once))} per issue plus ${amount(Math.round(tokens.per_candidate))} per candidate. Stored answers cost nothing and are counted separately.`,
      ...(equal === null
        ? []
        : [`The Best@K of ${equal.reached_by} with all candidates is reached ${byK(equal.presets)}.`]),
    ],
    plots: ['cost'],
    tables: [
      {
        caption: 'Model calls',
        columns: columns(
          'for',
          'model',
          '#calls',
          '#stored answers',
          '#input tokens',
          '#cached',
          '#output tokens',
          '#seconds',
        ),
        rows: models.map((each) => [
          each.purpose,
          each.model,
          amount(each.calls),
          amount(each.stored_answers),
          amount(each.input_tokens),
          amount(each.cached_input_tokens),
          amount(each.output_tokens),
          amount(Math.round(each.seconds)),
        ]),
      },
      {
        caption: 'Wall time by stage',
        columns: columns('stage', '#seconds', '#seconds per issue'),
        rows: stages.map(({ stage, seconds }) => [stage, amount(Math.round(seconds)), (seconds / runs).toFixed(1)]),
      },
    ],
  };
}

/** `at K = 1 by a, b; at K = 2 by c; never by d`. */
function byK(presets: readonly { readonly preset: string; readonly k: number | null }[]): string {
  const ks = [...new Set(presets.map(({ k }) => k))].sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
  const of = (wanted: number | null): string =>
    presets
      .filter(({ k }) => k === wanted)
      .map(({ preset }) => preset)
      .join(', ');
  return ks.map((k) => `${k === null ? 'never' : `at K = ${k}`} by ${of(k)}`).join('; ');
}

/** The data behind the numbers, and what is missing. */
export function gapsSection({ gaps, returned, curves, unknown_labels: unknown }: BenchmarkReport): Section {
  const coverage = curves?.coverage ?? null;
  return {
    title: 'Coverage and failures',
    text: [
      ...(coverage === null
        ? []
        : [
            `${counted(coverage.candidates, 'candidate')} of ${counted(coverage.issues, 'issue')} in ${counted(coverage.repos, 'repository', 'repositories')}. Issues without candidates: ${coverage.issues_without_candidates}; with fewer candidates than the largest K, for which all are used: ${coverage.issues_below_largest_k}. Without a patch to return: ${coverage.without_patch}.`,
          ]),
      `Candidates without a known label, which are excluded: ${unknown.candidates}; issues in which no label is known, which are excluded, too: ${unknown.issues}.`,
      ...(gaps === null
        ? []
        : [
            `Generated tests: ${gaps.tests.given}, of which ${gaps.tests.admitted} were admitted; ${gaps.tests_without_information} of these did not distinguish any candidates.`,
            ...(gaps.not_executed === 0
              ? []
              : [`Not executed: ${counted(gaps.not_executed, 'run')} had neither generated nor existing tests.`]),
          ]),
      ...(returned === null
        ? []
        : [`${returned.without_patch} of ${counted(returned.runs, 'run')} returned no patch.`]),
    ],
    plots: [],
    tables: [
      ...unknownTables(unknown),
      ...(gaps === null
        ? []
        : [
            measures(gaps),
            ...counts('Rejected tests', 'reason', gaps.tests.refused),
            ...counts('Rollouts that could not be sampled', 'failure', gaps.not_sampled),
          ]),
      ...(returned === null
        ? []
        : counts(
            'Deciding stages',
            'stage',
            returned.deciding_stages.map(({ stage, runs }) => ({ what: stage, count: runs })),
          )),
    ],
  };
}

/** Empty if every label is known. */
function unknownTables({ candidates, issues, reasons, issues_without_known_label: listed }: UnknownLabelsReport) {
  if (candidates === 0) return [];
  const text = (reason: string | null): string => reason ?? 'not stated';
  return [
    {
      caption: 'Unknown labels',
      columns: columns('reason', '#candidates', '#issues'),
      rows: reasons.map((each) => [text(each.reason), amount(each.candidates), amount(each.issues)]),
    },
    ...(issues === 0
      ? []
      : [
          {
            caption: `Issues in which no label is known${listed.length < issues ? ` (the first ${listed.length})` : ''}`,
            columns: columns('instance', '#candidates', 'most frequent reason'),
            rows: listed.map((each) => [each.instance_id, amount(each.candidates), text(each.reason)]),
          },
        ]),
  ];
}

function measures({ measures: all, candidates }: NonNullable<BenchmarkReport['gaps']>): SectionTable {
  return {
    caption: 'Verdicts',
    columns: columns('measure', '#scored', '#of candidates', 'abstained'),
    rows: all.map(({ measure, scored, abstained }) => [
      measure,
      amount(scored),
      percent(candidates === 0 ? null : scored / candidates),
      abstained
        .map(({ what, count, infrastructure }) => `${what}${infrastructure ? ' (infrastructure)' : ''}: ${count}`)
        .join(', '),
    ]),
  };
}

/** Empty if there is nothing to count. */
function counts(
  caption: string,
  what: string,
  rows: readonly { what: string; count: number }[],
): readonly SectionTable[] {
  if (rows.length === 0) return [];
  return [{ caption, columns: columns(what, '#number'), rows: rows.map((row) => [row.what, amount(row.count)]) }];
}

/** Everything needed to reproduce the numbers. */
export function originsSection({ origins, curves }: BenchmarkReport, place: Place | null): Section {
  const settings = curves?.settings;
  const how =
    settings === undefined
      ? []
      : [
          `Statistics: K = ${settings.ks.join(', ')}; ${settings.resamples} resamples, seed ${settings.seed}; ${settings.draws} random subsets if there is no closed form.`,
        ];
  const from = origins?.from == null ? [] : [`Runs made from ${origins.from} to ${origins.to ?? ''}.`];
  const row = ({ what, values }: { what: string; values: readonly { value: string; runs: number }[] }): string[] => [
    what,
    values.map(({ value, runs }) => (values.length === 1 ? value : `${value} (${runs})`)).join('; '),
  ];
  return {
    title: 'How to reproduce it',
    text: ['The same files give a byte-identical report.', ...how, ...from],
    plots: [],
    tables:
      origins === null
        ? []
        : [
            {
              caption: 'Settings (with the number of runs if they differ)',
              columns: columns('setting', 'value'),
              rows: origins.settings.map(row),
            },
            { caption: 'Prompts by hash', columns: columns('prompt', 'sha256'), rows: origins.prompts.map(row) },
            {
              caption: 'Runs',
              columns: runColumns(place),
              rows: origins.runs.map(({ instance_id, run_id, image_id }) => [instance_id, run_id, image_id ?? '–']),
            },
          ],
  };
}

function runColumns(place: Place | null): readonly Column[] {
  return columns('instance', 'run', 'image').map((column) =>
    column.name === 'run' && place !== null ? { ...column, href: place.run } : column,
  );
}

/** How well each verifier separates right from wrong candidates. */
export function verifiersSection({ curves }: BenchmarkReport): Section | null {
  if (curves === null || curves.verifiers.length === 0) return null;
  const number = (value: number | null): string => value?.toFixed(3) ?? '–';
  return {
    title: 'What the verifiers know',
    text: [
      'AUC within an issue is the probability that a right candidate scores above a wrong one of the same issue, which is what selection needs. AUC over all candidates also rewards knowing which issues are easy. Brier and ECE (ten bins) apply only to probabilities.',
    ],
    plots: ['roc', 'reliability'],
    tables: [
      {
        caption: 'Verifiers',
        columns: columns(
          'verifier',
          '#scored',
          '#abstained',
          '#AUC within an issue',
          '#issues',
          '#AUC overall',
          '#Brier',
          '#ECE',
        ),
        rows: curves.verifiers.map((each) => [
          each.verifier,
          amount(each.scored),
          amount(each.abstained),
          number(each.auc_within_issue),
          amount(each.issues_with_both),
          number(each.auc),
          number(each.brier),
          number(each.ece),
        ]),
      },
    ],
  };
}
