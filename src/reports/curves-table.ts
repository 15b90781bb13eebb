import { UNKNOWN } from '../../verifiers/hybrid/entry.js';
import type { Calibration } from '../core/run/fitted.js';
import type { Estimated } from '../statistics/intervals/curve-table.js';
import type { UnknownLabelsReport } from '../statistics/curves/unknown-labels.js';
import type { CurvesReport } from '../statistics/curves/curves-report.js';
import type { ReliabilityBin } from '../statistics/intervals/ranking-quality.js';
import { counted, unknownLabelsSentences } from './figures.js';
import { table } from './selection-table.js';
import { visibleLine } from '../core/hostile-text.js';
import { changeKey, fingerprint, patchSize, readPatch, splitPatch } from '../core/patch/patch.js';
import { repositoryOf } from '../core/run/issue.js';
import { type Imported, importRuns } from '../io/saved-runs/import-runs.js';
import type { SavedRun, Sealed } from '../io/saved-runs/saved-run.js';
import { unreadNoteText } from '../io/saved-runs/unread-columns.js';
import { type MaybeLabelled, type ScoredIssue, splitByLabel } from '../statistics/curves/scored-issue.js';
import { type Label, NO_LABEL, type OnLabelNote } from './label-book.js';
import { ImportLabels } from './labels.js';

/** Human-readable output of `bestk curves`. Rates are percentages, with the 95% interval over issues in brackets. */
export function curvesTable(report: CurvesReport): string {
  const { coverage, settings } = report;
  return [
    ...unknownLabelsSentences(coverage.unknown_labels).map((sentence) => `${visibleLine(sentence)}\n`),
    curveRows(report),
    '',
    presetRows(report),
    '',
    ...(report.comparisons.length === 0 ? [] : [comparisonRows(report), '']),
    ...(report.verifiers.length === 0 ? [] : [verifierRows(report), '']),
    ...report.axes.flatMap((axis) => [axisRows(axis), '']),
    `Coverage: ${counted(coverage.issues, 'issue')} of ${counted(coverage.repos, 'repository', 'repositories')}, ${counted(coverage.candidates, 'candidate')}; ` +
      `${counted(coverage.issues_without_candidates, 'issue')} without candidates, ${coverage.issues_below_largest_k} with fewer than ` +
      `${settings.ks.at(-1) ?? 1}, ${counted(coverage.ungraded_candidates, 'candidate')} without a known label (excluded)`,
    ...unknownLabelsLines(coverage.unknown_labels).map((line) => `  ${visibleLine(line)}`),
    `Selector-sensitive issues: ${report.selector_sensitive.issues} (${percent(report.selector_sensitive.share)}%)`,
    settings.interval === 'bootstrap'
      ? `Intervals: 95%, ${settings.resamples} bootstrap resamples of issues, seed ${settings.seed}`
      : 'Intervals: 95%, normal approximation over issues',
  ].join('\n');
}

/** The number of unknown labels by reason, and the issues without a known label. */
function unknownLabelsLines(unknown: UnknownLabelsReport): readonly string[] {
  const { issues, reasons, issues_without_known_label: listed } = unknown;
  const text = (reason: string | null): string => reason ?? 'no reason is stated';
  const rest = issues - listed.length;
  return [
    ...reasons.map(
      (each) =>
        `Unknown labels of ${counted(each.candidates, 'candidate')} in ${counted(each.issues, 'issue')}: ${text(each.reason)}`,
    ),
    ...listed.map(
      (each) =>
        `No known label in ${each.instance_id} (${counted(each.candidates, 'candidate')}): ${text(each.reason)}`,
    ),
    ...(rest === 0 ? [] : [`No known label in ${counted(rest, 'further issue')}`]),
  ];
}

function curveRows({ settings, pass_at_k, presets }: CurvesReport): string {
  const shown = spread(settings.ks);
  const columns = [
    { name: 'Pass@k', byK: pass_at_k },
    ...presets.map((each) => ({ name: each.preset, byK: each.best_at_k })),
  ];
  return table([
    ['k', ...columns.map(({ name }) => visibleLine(name))],
    ...shown.map((k) => [String(k), ...columns.map(({ byK }) => estimate(byK[String(k)]))]),
  ]);
}

/** At most 16 of the ks: the first, the last and others evenly between. */
function spread(ks: readonly number[]): readonly number[] {
  if (ks.length <= 16) return ks;
  const step = (ks.length - 1) / 15;
  return [...new Set(Array.from({ length: 16 }, (_, index) => ks[Math.round(index * step)] ?? 1))];
}

function presetRows({ presets }: CurvesReport): string {
  return table([
    ['preset', 'method', 'returned right', 'recovered head-room', 'Best@K where sensitive', 'no data for'],
    ...presets.map((each) => [
      visibleLine(each.preset),
      each.monte_carlo_error === null ? each.method : `${each.method} (±${percent(each.monte_carlo_error)})`,
      `${each.picked.resolved}/${each.picked.issues} [${percent(each.picked.low)}, ${percent(each.picked.high)}]`,
      each.recovered_headroom === null ? '-' : each.recovered_headroom.value.toFixed(2),
      each.best_where_sensitive === null ? '-' : percent(each.best_where_sensitive),
      each.stages_without_data.join(', '),
    ]),
  ]);
}

function comparisonRows({ comparisons }: CurvesReport): string {
  return table([
    ['all candidates', 'difference', 'only first right', 'only second', 'p (McNemar)', 'p (Holm)', 'detectable'],
    ...comparisons.map((each) => [
      `${visibleLine(each.a)} − ${visibleLine(each.b)}`,
      estimate(each.difference),
      String(each.only_a),
      String(each.only_b),
      each.p.toPrecision(2),
      each.p_holm.toPrecision(2),
      percent(each.minimum_detectable),
    ]),
  ]);
}

function verifierRows({ verifiers }: CurvesReport): string {
  const number = (value: number | null): string => (value === null ? '-' : value.toFixed(3));
  return table([
    ['verifier', 'scored', 'abstained', 'AUC in issue', 'AUC', 'Brier', 'ECE'],
    ...verifiers.map((each) => [
      each.verifier,
      String(each.scored),
      String(each.abstained),
      number(each.auc_within_issue),
      number(each.auc),
      number(each.brier),
      number(each.ece),
    ]),
  ]);
}

function axisRows({ axis, k, rows }: CurvesReport['axes'][number]): string {
  const presets = rows[0]?.presets.map(({ preset }) => visibleLine(preset)) ?? [];
  return table([
    [`${axis} ≤`, 'within', 'Pass@1', `Pass@${k}`, ...presets],
    ...rows.map((row) => [
      String(row.limit),
      percent(row.within),
      percent(row.pass_at_1),
      percent(row.pass_at_k),
      ...row.presets.map(({ best_at_k }) => percent(best_at_k)),
    ]),
  ]);
}

function estimate(given: Estimated | undefined): string {
  if (given === undefined) return '-';
  const interval = given.low === null || given.high === null ? '' : ` [${percent(given.low)}, ${percent(given.high)}]`;
  return `${percent(given.value)}${interval}`;
}

function percent(rate: number): string {
  return (100 * rate).toFixed(1);
}

/**
 * Human-readable output of `calibrate`.
 * @param out where the calibration was written
 */
export function reliabilityTable(
  { labels, data_card: card }: Calibration,
  { reliability, unknown }: { readonly reliability: readonly ReliabilityBin[]; readonly unknown: UnknownLabelsReport },
  out: string,
): string {
  const share = (value: number | null): string => value?.toFixed(3) ?? '-';
  const bins = reliability.map((bin) => [
    `${bin.from.toFixed(1)} to ${bin.to.toFixed(1)}`,
    String(bin.candidates),
    share(bin.mean_score),
    `${share(bin.resolved_rate)} [${share(bin.low)}, ${share(bin.high)}]`,
  ]);
  const behind = Object.entries(labels).map(([name, [right, wrong]]) => [visibleLine(name), `${right}`, `${wrong}`]);
  return [
    ...unknownLabelsSentences(unknown).map((sentence) => `${visibleLine(sentence)}\n`),
    table([['fitted on', 'right', 'wrong'], ...behind]),
    '',
    `Returned patches on held-out repositories (${counted(card.issues, 'issue')}, ${counted(card.folds, 'fold')}):`,
    table([['confidence', 'patches', 'mean', 'right (95%)'], ...bins]),
    '',
    `Right: ${share(card.picked_right)}, mean confidence: ${share(card.mean_confidence)}. ECE ${share(card.ece)}, Brier ${share(card.brier)}, AUC ${share(card.auc)}`,
    `Calibration: ${out}`,
  ].join('\n');
}

/**
 * Saved runs as issues with labelled candidates and without scores, for Pass@K. A candidate without a label takes that of
 * another candidate of its instance with the same source change, including those in `others`, which only provide labels: those
 * of their own candidates, or of candidates in `paths` if they have none of the instance.
 * @param onNote receives what was not read, and which labels contradict each other
 * @throws BadInputError for a path that does not exist
 */
export async function scoredRuns(
  paths: readonly string[],
  others: readonly string[],
  onNote: OnLabelNote = () => undefined,
): Promise<readonly ScoredIssue[]> {
  const join = new ImportLabels();
  const own = await read(paths, { join, onNote });
  const theirs = await read(others, { join: new ImportLabels(), earlier: join, onNote });
  const labels = new Map(own.labels);
  for (const [key, label] of theirs.further) addLabel(labels, key, label);
  const bySame = new Map<string, Label>();
  for (const [{ runs }, known] of [[theirs, theirs.labels] as const, [own, labels] as const]) {
    for (const run of [...runs.values()].flat()) {
      const label = known.get(keyOf(run));
      if (typeof label?.resolved === 'boolean') for (const key of sameAs(run)) bySame.set(key, label);
    }
  }
  const labelOf = (run: Known): Label => {
    const label = labels.get(keyOf(run));
    if (typeof label?.resolved === 'boolean') return label;
    const [found] = sameAs(run).flatMap((key) => bySame.get(key) ?? []);
    return found ?? label ?? NO_LABEL;
  };
  return [...own.runs].map(([instanceId, runs]) => ({
    instanceId,
    repo: repositoryOf(instanceId) ?? instanceId,
    ...splitByLabel(runs.map((run) => scored(run, labelOf(run)))),
  }));
}

/** The parts of a saved run that are kept; its trajectory is dropped. */
type Known = Pick<SavedRun, 'instance_id' | 'candidate_id' | 'patch' | 'origin'> & { readonly steps: number | null };

/** Labels by instance and candidate. */
type Outcomes = ReadonlyMap<string, Label>;

interface SavedRuns {
  readonly runs: ReadonlyMap<string, readonly Known[]>;
  readonly labels: Outcomes;
  /** Labels of candidates that were read before, of instances without runs here. */
  readonly further: Outcomes;
}

interface ReadOptions {
  readonly join: ImportLabels;
  /** With the candidates that were read before. */
  readonly earlier?: ImportLabels;
  readonly onNote: OnLabelNote;
}

async function read(
  paths: readonly string[],
  { join, earlier = new ImportLabels(), onNote }: ReadOptions,
): Promise<SavedRuns> {
  const runs = new Map<string, Known[]>();
  const [rows, further]: [Sealed[], Sealed[]] = [[], []];
  for await (const each of importRuns(paths)) {
    if (each.kind === 'run' || each.kind === 'renamed') {
      runs.set(each.run.instance_id, [...(runs.get(each.run.instance_id) ?? []), knownOf(each.run)]);
    }
    rows.push(...joined(each, join));
    if (each.kind === 'sealed') further.push(...joined(each, earlier));
    if (each.kind === 'unread') onNote(unreadNoteText(each.note));
  }
  const settled = join.settle();
  for (const { file, reason } of settled.contradictions) onNote(`${file}: ${reason}`);
  const all = [...further, ...earlier.settle().rows].filter(({ instance_id }) => !runs.has(instance_id));
  return { runs, labels: outcomesOf([...rows, ...settled.rows]), further: outcomesOf(all) };
}

function outcomesOf(rows: readonly Sealed[]): Outcomes {
  const outcomes = new Map<string, Label>();
  for (const row of rows) {
    const { resolved, reason = null } = row;
    if (resolved !== null || reason !== null) addLabel(outcomes, keyOf(row), { resolved, reason });
  }
  return outcomes;
}

/** An unknown label replaces no other. */
function addLabel(labels: Map<string, Label>, key: string, label: Label): void {
  if (label.resolved !== null || !labels.has(key)) labels.set(key, label);
}

/** Notes a candidate or its copy. @returns the label that it is, if its candidate is known */
function joined(each: Imported, join: ImportLabels): readonly Sealed[] {
  if (each.kind === 'run') join.candidate(each.run);
  if (each.kind === 'renamed') join.candidate(each.run, each.from);
  if (each.kind === 'duplicate') join.copy(each.run, each.from);
  if (each.kind !== 'sealed') return [];
  const kept = join.keep({ ...each.row, sealed: [] }, each.file, each.line);
  return kept === null ? [] : [kept];
}

function knownOf({ instance_id, candidate_id, patch, origin, trajectory }: SavedRun): Known {
  return { instance_id, candidate_id, patch, origin, steps: trajectory?.steps.length ?? null };
}

function keyOf({ instance_id, candidate_id }: { instance_id: string; candidate_id: string | null }): string {
  return JSON.stringify([instance_id, candidate_id]);
}

/** Keys of candidates with the same source change: with the same id, and with any. */
function sameAs({ instance_id, candidate_id, patch }: Known): readonly string[] {
  const parsed = readPatch(patch);
  const change = parsed.kind === 'ok' ? fingerprint(parsed) : patch.trim();
  return [JSON.stringify([instance_id, change, candidate_id]), JSON.stringify([instance_id, change])];
}

function scored({ candidate_id: id, patch, origin, steps }: Known, label: Label): MaybeLabelled {
  const parsed = readPatch(patch);
  const isSource = parsed.kind === 'ok' && splitPatch(parsed).source !== '';
  // Trials keep no patch: the result is the state of their container.
  const isTrial = origin.format === 'atif' && patch === '';
  return {
    entry: {
      ...UNKNOWN,
      id,
      patch_size: isSource ? patchSize(parsed) : null,
      fingerprint: isSource ? fingerprint(parsed) : null,
      change: isSource ? changeKey(parsed) : null,
      has_source_change: isSource || isTrial,
      steps,
    },
    ...label,
    cost: origin.cost_usd,
    axes: {},
  };
}
