import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Estimated } from '../../statistics/intervals/curve-table.js';
import { reportPage } from '../page/report-page.js';
import { drawPng, drawSvg, plotsOf } from '../plots/draw-plot.js';
import type { DrawnPlot, Plot } from '../plots/plot.js';
import type { Place, Section, SectionTable } from '../figures.js';
import { sectionsOf } from '../sections/sections-of.js';
import { makeFolder, writeWhole } from '../write-run.js';
import type { BenchmarkReport } from './headline.js';
import { sentences } from './sentences.js';
import { visibleLine } from '../../core/hostile-text.js';

/** One file of a report. */
interface ReportFile {
  /** Relative, with `/`. */
  readonly path: string;
  readonly content: string | Buffer;
}

/**
 * The report as one HTML document.
 * @param place the service's pages of the runs
 */
export async function benchmarkHtml(report: BenchmarkReport, place: Place | null): Promise<string> {
  return reportPage(report, await drawn(plotsOf(report)), place);
}

/** Writes report.json, .html, .md, .csv and plots/ (SVG, PNG); report.html is written last, so if it exists all files do. */
export async function writeBenchmark(folder: string, report: BenchmarkReport): Promise<void> {
  const plots = await drawn(plotsOf(report));
  await makeFolder(folder);
  await rm(join(folder, 'report.html'), { force: true });
  await makeFolder(join(folder, 'plots'));
  const files: ReportFile[] = [
    { path: 'report.json', content: `${JSON.stringify(report, null, 2)}\n` },
    { path: 'report.csv', content: benchmarkCsv(report) },
    {
      path: 'report.md',
      content: benchmarkMarkdown(
        report,
        plots.map(({ plot }) => plot),
      ),
    },
  ];
  files.push(...(await plotFiles(plots)), { path: 'report.html', content: reportPage(report, plots) });
  for (const { path, content } of files) await writeWhole(join(folder, path), content);
}

/** Draws the plots one at a time. */
export async function drawn(plots: readonly Plot[]): Promise<DrawnPlot[]> {
  const all: DrawnPlot[] = [];
  for (const plot of plots) all.push({ plot, svg: await drawSvg(plot) });
  return all;
}

/** Each plot as SVG and as PNG. */
export async function plotFiles(plots: readonly DrawnPlot[]): Promise<readonly ReportFile[]> {
  const files: ReportFile[] = [];
  for (const { plot, svg } of plots) {
    files.push({ path: `plots/${plot.name}.svg`, content: `${svg}\n` });
    files.push({ path: `plots/${plot.name}.png`, content: await drawPng(svg) });
  }
  return files;
}

type Cell = string | number | null;

const HEADER = ['section', 'subject', 'k', 'metric', 'value', 'low', 'high'];

/** Every rate of the report, one per line, for spreadsheets and data frames; empty = unknown. RFC 4180. */
export function benchmarkCsv(report: BenchmarkReport): string {
  return csv([HEADER, ...labelRows(report), ...curveRows(report), ...repositoryRows(report), ...costRows(report)]);
}

/** RFC 4180; empty = unknown. */
export function csv(rows: readonly (readonly Cell[])[]): string {
  return rows.map(line).join('');
}

function labelRows({ unknown_labels, issues_without_labels, returned }: BenchmarkReport): readonly Cell[][] {
  const row = (subject: string, count: number): Cell[] => ['labels', subject, null, 'unknown', count, null, null];
  return [
    row('candidates', unknown_labels.candidates),
    row('issues', unknown_labels.issues + issues_without_labels),
    ...(returned === null ? [] : [row('returned patches', returned.unknown_labels)]),
  ];
}

function curveRows({ curves }: BenchmarkReport): readonly Cell[][] {
  if (curves === null) return [];
  const byK = (subject: string, metric: string, all: Readonly<Record<string, Estimated>>): Cell[][] =>
    Object.entries(all).map(([k, { value, low, high }]) => ['curves', subject, k, metric, value, low, high]);
  return [
    ...byK('all candidates', 'pass_at_k', curves.pass_at_k),
    ...curves.presets.flatMap(({ preset, best_at_k, recovered_headroom: share, picked }) => [
      ...byK(preset, 'best_at_k', best_at_k),
      ...(share === null ? [] : [['curves', preset, null, 'recovered_headroom', share.value, share.low, share.high]]),
      ['curves', preset, null, 'returned_right', picked.rate, picked.low, picked.high],
    ]),
    ...curves.comparisons.map(({ a, b, difference, p_holm }) => [
      'comparison',
      `${a} - ${b}`,
      null,
      `difference (Holm p ${p_holm})`,
      difference.value,
      difference.low,
      difference.high,
    ]),
    ...curves.verifiers.map((each) => [
      'verifier',
      each.verifier,
      null,
      'auc_within_issue',
      each.auc_within_issue,
      null,
      null,
    ]),
  ];
}

function repositoryRows({ repositories }: BenchmarkReport): readonly Cell[][] {
  return repositories.flatMap(({ repo, pass_at_1, pass_at_all, picked }) => [
    ['repository', repo, null, 'pass_at_1', pass_at_1, null, null],
    ['repository', repo, null, 'pass_at_all', pass_at_all, null, null],
    ...picked.map(({ preset, rate, low, high }) => [
      'repository',
      repo,
      null,
      `returned_right:${preset}`,
      rate,
      low,
      high,
    ]),
  ]);
}

function costRows({ spending }: BenchmarkReport): readonly Cell[][] {
  if (spending === null) return [];
  return [
    ['cost', 'all runs', null, 'usd', spending.cost_usd, null, null],
    ['cost', 'an issue', null, 'tokens', spending.tokens_per_issue, null, null],
    ...spending.models.flatMap(({ purpose, model, input_tokens, output_tokens }) => [
      ['cost', `${purpose} ${model}`, null, 'input_tokens', input_tokens, null, null],
      ['cost', `${purpose} ${model}`, null, 'output_tokens', output_tokens, null, null],
    ]),
    ...spending.stages.map(({ stage, seconds }) => ['cost', stage, null, 'seconds', seconds, null, null]),
  ];
}

function line(cells: readonly Cell[]): string {
  return `${cells.map(field).join(',')}\r\n`;
}

/** A text that a spreadsheet would evaluate as a formula is prefixed with an apostrophe. */
function field(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = /^[=+@\t\r-]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The report for a pull request or a wiki; plots are links to the SVG files next to it. */
export function benchmarkMarkdown(report: BenchmarkReport, plots: readonly { name: string; title: string }[]): string {
  return markdown({ title: report.title, sentences: sentences(report), sections: sectionsOf(report) }, plots);
}

/** A page's content as Markdown. */
export function markdown(
  said: { readonly title: string; readonly sentences: readonly string[]; readonly sections: readonly Section[] },
  plots: readonly { name: string; title: string }[],
): string {
  const sections = said.sections.flatMap((section) => [
    `## ${escaped(section.title)}`,
    ...section.text.map(escaped),
    ...plots
      .filter(({ name }) => section.plots.includes(name))
      .map(({ name, title }) => `![${escaped(title)}](plots/${name}.svg)`),
    ...section.tables.filter(({ rows }) => rows.length > 0).map(tableOf),
  ]);
  return `${[`# ${escaped(said.title)}`, ...said.sentences.map(escaped), ...sections].join('\n\n')}\n`;
}

function tableOf({ caption, columns, rows }: SectionTable): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const header = columns.map(({ name }) => escaped(name));
  const ruler = columns.map(({ isNumber }) => (isNumber ? '---:' : '---'));
  return [`**${escaped(caption)}**`, '', ...[header, ruler, ...rows.map((cells) => cells.map(escaped))].map(row)].join(
    '\n',
  );
}

/** External text stays text: no markup, no HTML, no line break that would end a table row. */
function escaped(text: string): string {
  return visibleLine(text)
    .replace(/\s+/g, ' ')
    .replace(/[\\`*_[\]<>|#~]/g, (char) => `\\${char}`);
}
