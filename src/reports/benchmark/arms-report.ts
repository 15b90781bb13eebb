import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  amount,
  type Column,
  columns,
  counted,
  dollars,
  percent,
  type Place,
  points,
  probability,
  pValue,
  type Section,
  withInterval,
} from '../figures.js';
import { page } from '../page/report-page.js';
import { armsPlots } from '../plots/arms-plots.js';
import type { DrawnPlot } from '../plots/plot.js';
import { table } from '../selection-table.js';
import { makeFolder, writeWhole } from '../write-run.js';
import type { BenchmarkCurve, BenchmarkPlots } from '../../runs/benchmark-service.js';
import { visibleLine } from '../../core/hostile-text.js';
import { type ArmOutcomes, type ArmsReport, type ArmSummary, comparisonsOf, isUnknown, summaryOf } from './arms.js';
import { csv, drawn, markdown, plotFiles } from './write-benchmark.js';

/** Deterministic: depends only on the arms' outcomes, not on a clock or randomness. */
export function armsReport(title: string, arms: readonly ArmOutcomes[], instances: readonly string[]): ArmsReport {
  return {
    kind: 'bestk-bench-report',
    schema: 1,
    title,
    arms: arms.map(summaryOf),
    comparisons: comparisonsOf(arms),
    issues: instances.map((instance_id) => ({
      instance_id,
      arms: Object.fromEntries(
        arms.flatMap(({ name, outcomes }) => {
          const outcome = outcomes.get(instance_id);
          return outcome === undefined ? [] : [[name, outcome]];
        }),
      ),
    })),
    failures: arms.flatMap(failuresOf),
  };
}

function failuresOf({ name: arm, outcomes }: ArmOutcomes): ArmsReport['failures'] {
  const byCode = new Map<string, { issues: number; example: string }>();
  for (const { code, reason } of outcomes.values()) {
    if (code === null) continue;
    const known = byCode.get(code) ?? { issues: 0, example: reason ?? '' };
    byCode.set(code, { ...known, issues: known.issues + 1 });
  }
  return [...byCode]
    .map(([code, counted]) => ({ arm, code, ...counted }))
    .sort((a, b) => b.issues - a.issues || (a.code < b.code ? -1 : 1));
}

/** Writes report.json, report.html, report.md, issues.csv and plots/ (SVG, PNG); report.html is written last. */
export async function writeArmsReport(folder: string, report: ArmsReport): Promise<void> {
  const plots = await drawn(armsPlots(report));
  await makeFolder(folder);
  await rm(join(folder, 'report.html'), { force: true });
  await makeFolder(join(folder, 'plots'));
  const titles = plots.map(({ plot }) => plot);
  const files = [
    { path: 'report.json', content: `${JSON.stringify(report, null, 2)}\n` },
    { path: 'issues.csv', content: armsCsv(report) },
    { path: 'report.md', content: markdown(saidBy(report), titles) },
    ...(await plotFiles(plots)),
    { path: 'report.html', content: pageOf(report, plots, null) },
  ];
  for (const { path, content } of files) await writeWhole(join(folder, path), content);
}

function saidBy(report: ArmsReport, place: Place | null = null) {
  return { title: report.title, sentences: armSentences(report), sections: sectionsOf(report, place) };
}

/**
 * The report as one HTML document.
 * @param place the service's pages of the runs; null = the runs are in folders next to the report
 * @param curves see `armsPlots`
 */
export async function armsPage(
  report: ArmsReport,
  place: Place | null = null,
  curves: readonly BenchmarkCurve[] = [],
): Promise<string> {
  return pageOf(report, await drawn(armsPlots(report, curves)), place);
}

/**
 * The report's plots for the viewer.
 * @param curves see `armsPlots`
 */
export async function armsDrawings(report: ArmsReport, curves: readonly BenchmarkCurve[]): Promise<BenchmarkPlots> {
  const plots = await drawn(armsPlots(report, curves));
  return {
    plots: plots.map(({ plot: { name, title, note, table }, svg }) => ({
      ...{ name, title, note, svg },
      columns: [...table.columns],
      rows: table.rows.map((row) => [...row]),
    })),
  };
}

function pageOf(report: ArmsReport, plots: readonly DrawnPlot[], place: Place | null): string {
  return page({ ...saidBy(report, place), figures: [], plots, back: place?.back ?? null });
}

/** CSV with one row per issue and arm. */
export function armsCsv(report: ArmsReport): string {
  return csv([ISSUE_COLUMNS, ...issueRows(report)]);
}

/** The report as text for a terminal. */
export function armsText(report: ArmsReport): string {
  const rows = report.arms.map(armRow);
  const failed = report.failures.map(({ arm, code, issues, example }) =>
    visibleLine(`${counted(issues, 'issue')} of ${arm} without a selection: ${code}, ${example}`),
  );
  const lines = armSentences(report).map(visibleLine);
  const said = [...lines, '', table([ARM_COLUMNS.map(({ name }) => name), ...rows])];
  return [...said, ...(failed.length === 0 ? [] : ['', ...failed])].join('\n');
}

/** The findings as sentences, the user's own arm first. */
export function armSentences({ arms, comparisons }: ArmsReport): readonly string[] {
  const [own] = arms;
  if (own === undefined) return [];
  const { right } = own;
  const selected = `${own.arm} selected a patch for ${own.selected} of ${counted(own.issues, 'issue')}`;
  const known = `${right?.resolved ?? 0} of the ${right?.issues ?? 0} with a known outcome ${right?.resolved === 1 ? 'is' : 'are'} right, ${withInterval(right && { ...right, value: right.rate })}`;
  const adjusted = (p: number): string =>
    comparisons.length < 2 ? '' : `; ${pValue(p)} Holm-adjusted for ${comparisons.length} comparisons`;
  const pass = `On graded issues, a random candidate is right in ${percent(own.pass_at_1)}, at least one in ${percent(own.pass_at_all)}`;
  return [
    right === null
      ? `${selected}; nothing has been graded.`
      : `${selected}; ${known}, with Wilson’s 95% interval. ${pass}.`,
    ...comparisons.map(
      ({ arm, difference, issues_in_both, only_first, only_other, p, p_holm }) =>
        `Against ${arm}: ${points(difference)} on ${counted(issues_in_both, 'issue')} (${only_first} right only here, ${only_other} only there; McNemar ${pValue(p)}${adjusted(p_holm)}).`,
    ),
    ...arms
      .filter(({ executions, selected: some }) => executions === 0 && some > 0)
      .map(({ arm }) => `In ${arm} no test was executed: its selections are based only on judges and the patches.`),
    ...arms.flatMap(unknownSentence),
  ];
}

/** Empty if every label is known, or nothing has been graded. */
function unknownSentence({ arm, right, unknown, ungraded_candidates, unknown_candidates }: ArmSummary): string[] {
  if (ungraded_candidates === 0 || (right === null && unknown_candidates === 0)) return [];
  const [has, is] = ungraded_candidates === 1 ? ['has', 'is'] : ['have', 'are'];
  const graded = unknown_candidates === 0 ? '' : ` (${amount(unknown_candidates)} graded, with an unknown label)`;
  const selected = unknown === 0 ? '' : `, among them the selected one in ${counted(unknown, 'issue')}`;
  return [
    `${counted(ungraded_candidates, 'candidate')} of ${arm} ${has} no known label${graded}${selected}, and ${is} excluded from all rates.`,
  ];
}

const ARM_COLUMNS = columns(
  'arm',
  '#issues',
  '#selected',
  '#none',
  '#failed',
  '#waiting',
  '#right',
  '#unknown',
  '#Pass@1',
  '#Pass@all',
  '#executions',
  '#tokens',
  '#cost',
);

function armRow(arm: ArmSummary): readonly string[] {
  const { right } = arm;
  return [
    visibleLine(arm.arm),
    ...[arm.issues, arm.selected, arm.without_patch, arm.failed, arm.waiting].map(amount),
    right === null ? '–' : `${right.resolved} of ${right.issues}`,
    amount(arm.unknown),
    percent(arm.pass_at_1),
    percent(arm.pass_at_all),
    amount(arm.executions),
    amount(arm.tokens),
    dollars(arm.usd),
  ];
}

function sectionsOf(report: ArmsReport, place: Place | null): readonly Section[] {
  const { arms, comparisons, failures } = report;
  const values = issueRows(report);
  return [
    {
      title: 'Arms',
      text: [
        'Right: among issues in which the label of the selected patch is known, or no patch was returned. Unknown: the selected patch was graded, and its label is unknown.',
        ...(place === null ? ['Each arm also has its own report, in the folder of that name next to this file.'] : []),
      ],
      plots: ['arms-curves', 'arms-best', 'risk', 'arms-cost'],
      tables: [
        { caption: 'Arms', columns: ARM_COLUMNS, rows: arms.map(armRow) },
        {
          caption: `${arms[0]?.arm ?? ''} against the others`,
          columns: columns(
            'against',
            '#issues in both',
            '#difference',
            '#right only here',
            '#right only there',
            '#p',
            '#p (Holm)',
          ),
          rows: comparisons.map(({ arm, issues_in_both, difference, only_first, only_other, p, p_holm }) => [
            arm,
            ...[amount(issues_in_both), points(difference), amount(only_first), amount(only_other)],
            ...[probability(p), probability(p_holm)],
          ]),
        },
      ],
    },
    {
      title: 'Issues',
      text: [],
      plots: [],
      tables: [
        {
          caption: 'Selections by arm',
          columns: issueColumns(place),
          rows: values.map((row) => row.map((cell) => (typeof cell === 'number' ? amount(cell) : (cell ?? '–')))),
          values,
        },
      ],
    },
    ...unknownSections(report),
    ...(failures.length === 0 ? [] : [failureSection(failures)]),
  ];
}

/** The selections whose label is unknown, with the reason where it is at hand. */
function unknownSections({ issues }: ArmsReport): readonly Section[] {
  const rows = issues.flatMap(({ instance_id, arms }) =>
    Object.entries(arms).flatMap(([arm, outcome]) =>
      isUnknown(outcome) ? [[instance_id, arm, outcome.unknown_because ?? '–']] : [],
    ),
  );
  if (rows.length === 0) return [];
  return [
    {
      title: 'Unknown labels',
      text: [
        'These selections were graded, and it is unknown whether they are right. They are excluded from all rates.',
      ],
      plots: [],
      tables: [{ caption: 'Selections', columns: columns('instance', 'arm', 'reason'), rows }],
    },
  ];
}

function failureSection(failures: ArmsReport['failures']): Section {
  return {
    title: 'Failures',
    text: ['These issues have no selection and are excluded from all rates. Repeat the command to retry them.'],
    plots: [],
    tables: [
      {
        caption: 'By reason',
        columns: columns('arm', 'code', '#issues', 'example'),
        rows: failures.map(({ arm, code, issues, example }) => [arm, code, amount(issues), example]),
      },
    ],
  };
}

const ISSUE_COLUMNS = [
  'instance_id',
  'arm',
  'state',
  'right',
  'selected',
  'stage',
  'confidence',
  'k',
  'distinct_patches',
  'executions',
  'right_candidates',
  'graded',
  'unknown',
  'tokens',
  'usd',
  'folder',
];

const WORDS = 6;

function issueColumns(place: Place | null): readonly Column[] {
  const last = ISSUE_COLUMNS.length - 1;
  const named = ISSUE_COLUMNS.map((name, index) => (index < WORDS || index === last ? name : `#${name}`));
  const toRun = place === null ? { href: inFolder } : { href: (page: string) => place.run(idOf(page)), text: idOf };
  return columns(...named).map((column, index) => (index === last ? { ...column, ...toRun } : column));
}

/** Link from the report's folder to a run's report. */
function inFolder(folder: string): string {
  return `../${folder.split('/').map(encodeURIComponent).join('/')}/`;
}

/** A run's id, from the address of its page. */
function idOf(page: string): string {
  return page.replace(/^\/#\/runs\//, '');
}

/** One row per issue and arm. */
function issueRows({ arms: order, issues }: ArmsReport): readonly (readonly (string | number | null)[])[] {
  return issues.flatMap(({ instance_id, arms }) =>
    // Not Object.entries order, in which integer-like names come first.
    order.flatMap(({ arm }) => {
      const outcome = arms[arm];
      if (outcome === undefined) return [];
      const { state, code, right, candidate_id, stage, confidence, k, distinct_patches, executions } = outcome;
      const { right_candidates, graded, unknown, tokens, usd, folder } = outcome;
      const none = isUnknown(outcome) ? 'unknown' : null;
      const told = right === null ? none : right ? 'yes' : 'no';
      const row = [
        ...[instance_id, arm, code === null ? state : `${state}: ${code}`, told, candidate_id, stage],
        ...[confidence, k, distinct_patches, executions, right_candidates, graded, unknown, tokens, usd, folder],
      ];
      return [row];
    }),
  );
}
