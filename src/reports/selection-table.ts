import { EXECUTION_FREE, type Measure, measuresShown, REGRESSION, toldClasses } from '../core/run/verdict.js';
import type { TestQuality } from '../core/run/generated-test.js';
import type { RunResult } from '../core/run/run-result.js';
import { visibleLine } from '../core/hostile-text.js';
import type { Labels } from './label-book.js';

/** The candidates in ranking order as a text table, one line each; the last column has the labels, if given. */
export function selectionTable(result: RunResult, labels: Labels | null): string {
  const outOf = new Map(result.verdicts.map((each) => [each.measure, each.kind === 'scored' ? each.out_of : null]));
  const measures = measuresShown(result.measures);
  const header = [
    'rank',
    'candidate',
    'P(right)',
    ...measures.map(heading),
    'notes',
    ...(labels === null ? [] : ['right']),
  ];
  const rows = result.selection.ranking.map((candidate) => [
    candidate.candidate_id === result.selection.candidate_id ? `* ${candidate.rank}` : `  ${candidate.rank}`,
    visibleLine(candidate.candidate_id),
    candidate.p_right?.toFixed(3) ?? '-',
    ...measures.map((measure) => {
      const value = candidate.scores[measure.name] ?? null;
      const isGap = value === null && measure.kind.endsWith('tests') && candidate.flags.includes('not-executed');
      return isGap ? 'not executed' : score(value, measure.unit, outOf.get(measure.name) ?? null);
    }),
    visibleLine(candidate.flags.join(' ')),
    ...(labels === null ? [] : [label(labels, candidate.candidate_id)]),
  ]);
  return table([header, ...rows]);
}

/** Pads columns to their widest cell, two spaces apart. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function heading(measure: Measure): string {
  return measure === EXECUTION_FREE ? 'P(YES)' : visibleLine(measure.title).toLowerCase();
}

function score(value: number | null, unit: Measure['unit'], outOf: number | null): string {
  if (value === null) return '-';
  return unit === 'count' ? `${value}/${outOf ?? '?'}` : value.toFixed(3);
}

function label(labels: Labels, id: string): string {
  const right = labels.get(id)?.resolved ?? null;
  return right === null ? 'unknown' : right ? 'yes' : 'no';
}

/** Human-readable output of `bestk select`: table, decision, diff, statistics, location of the report. */
export function selectSummary(result: RunResult, labels: Labels | null, folder: string): string {
  const { selection, statistics, patch } = result;
  const refused = result.admissions.filter(({ admitted }) => !admitted);
  const confidence = selection.confidence === null ? '' : `, confidence ${selection.confidence.toFixed(3)}`;
  const chosen =
    selection.candidate_id === null
      ? `Selected: none; ${visibleLine(selection.why_none ?? 'no candidate qualifies')}.`
      : `Selected: ${visibleLine(selection.candidate_id)} (basis: ${selection.basis}, decided by: ${selection.deciding_stage ?? 'nothing to decide'}${confidence})`;
  return [
    selectionTable(result, labels),
    '',
    ...refused.map(
      ({ test_id, reason }) => `Test ${visibleLine(test_id)} was not admitted: it ${reason ?? 'was refused'}`,
    ),
    ...result.test_quality.map(qualityLine),
    ...classLines(result),
    ...samplingLines(result),
    `K = ${statistics.k}, ${statistics.distinct_patches} distinct patches, ${statistics.verified} verified, ${testsLine(result)}`,
    ...expectedLine(result),
    ...agentLines(result, labels),
    ...(labels === null ? [] : [...unknownLines(result, labels), passLine(result, labels)]),
    ...selection.notes.map((note) => `Note: ${visibleLine(note)}.`),
    chosen,
    ...(patch === null ? [] : ['', ...patch.trimEnd().split('\n').map(visibleLine)]),
    '',
    `Report: ${folder}`,
  ].join('\n');
}

function testsLine({ verdicts, statistics: { tests_admitted, tests_given } }: RunResult): string {
  const isMissing = tests_given === 0 && verdicts.some(({ measure }) => measure === REGRESSION.name);
  const given = `${tests_admitted} of ${tests_given} tests admitted`;
  return isMissing ? 'no generated tests (give --tests, or set BESTK_TEST_MODEL to have them written)' : given;
}

function qualityLine({ test_id, solved_by, of, information, toxicity }: TestQuality): string {
  const told = information === 0 ? 'distinguishes no patches' : `${information.toFixed(2)} bit`;
  return `Test ${visibleLine(test_id)}: solved by ${solved_by} of ${of} patches, ${told}, P(toxic) ${toxicity.toFixed(2)}`;
}

/** Behaviour classes with their members and the values that distinguish them; empty with fewer than two classes. */
function classLines({ verdicts }: RunResult): readonly string[] {
  const classes = toldClasses(verdicts);
  if (classes.length < 2) return [];
  return classes.flatMap(({ class: number, candidate_ids, told }) => [
    `Class ${number} (${candidate_ids.length}): ${visibleLine(candidate_ids.join(', '))}`,
    ...told.map(({ test_id, value, as_base }) => {
      const values = visibleLine(value.split('\n').join(', '));
      return `  ${visibleLine(test_id)}: ${values}${as_base ? ' (as base)' : ''}`;
    }),
  ]);
}

/** Rollouts that could not be sampled are reported as a gap in the sample. */
function samplingLines({ sampling }: RunResult): readonly string[] {
  if (sampling === null || sampling.failed.length === 0) return [];
  const names = sampling.failed.map(({ candidate_id, message }) => `${candidate_id} (${visibleLine(message)})`);
  return [`${sampling.failed.length} of ${sampling.asked} rollouts could not be sampled: ${names.join(', ')}`];
}

/** Expected rates by the posterior, without labels; empty for runs of older versions. */
function expectedLine({ statistics: { k, expected_pass_at_1: one, expected_pass_at_k: all } }: RunResult): string[] {
  if (one === null || all === null) return [];
  const more = k === 1 ? '' : `, Pass@${k} = ${all.toFixed(3)}`;
  return [`Expected: Pass@1 = ${one.toFixed(3)}${more} (by the posterior)`];
}

/** One line for each of several agents. */
function agentLines({ statistics, rollouts }: RunResult, labels: Labels | null): readonly string[] {
  return statistics.agents.map(
    ({ agent, k, distinct_patches: distinct, expected_pass_at_1: one, expected_pass_at_k: all }) => {
      const own = rollouts.filter((rollout) => rollout.agent === agent);
      const right = own.filter(({ candidate_id }) => labels?.get(candidate_id)?.resolved === true).length;
      const known = labels === null ? '' : `; ${right} of them right`;
      return `Agent ${visibleLine(agent)}: K = ${k}, ${distinct} distinct patches, expected Pass@1 = ${one?.toFixed(3) ?? '-'}, Pass@${k} = ${all?.toFixed(3) ?? '-'}${known}`;
    },
  );
}

/** One line for each candidate whose label is null, with the reason. */
function unknownLines({ selection }: RunResult, labels: Labels): readonly string[] {
  return selection.ranking.flatMap(({ candidate_id }) => {
    const label = labels.get(candidate_id);
    if (label?.resolved !== null) return [];
    return [`Label of ${visibleLine(candidate_id)} is unknown: ${visibleLine(label.reason ?? 'no reason is stated')}`];
  });
}

/**
 * Pass@1 is the mean of the known labels, Pass@K whether any is right; labels are read after the selection and do not affect it.
 * A candidate without a known label is neither right nor wrong.
 */
function passLine({ selection, statistics: { k } }: RunResult, labels: Labels): string {
  const known = selection.ranking.flatMap(({ candidate_id }) => labels.get(candidate_id)?.resolved ?? []);
  const right = known.filter((label) => label).length;
  const missing = selection.ranking.length - known.length;
  const best = selection.candidate_id === null ? false : (labels.get(selection.candidate_id)?.resolved ?? null);
  const rate = (value: boolean | null): string => (value === null ? 'unknown' : Number(value).toFixed(3));
  const one = known.length === 0 ? 'unknown' : (right / known.length).toFixed(3);
  const any = rate(right > 0 ? true : missing > 0 ? null : false);
  const gap = missing === 0 ? '' : `; ${missing} of ${selection.ranking.length} candidates have no known label`;
  return `Pass@1 = ${one}, Pass@${k} = ${any}, Best@${k} = ${rate(best)} (with the labels given${gap})`;
}
