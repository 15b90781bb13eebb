import { useMemo } from 'preact/hooks';
import type { BenchmarkStanding, CurvesOfArms } from '../../http/benchmarks/benchmarks.controller.js';
import {
  allRuns,
  benchmarkPath,
  type BenchmarkRun,
  type IssueRow,
  OUTCOMES,
  rowsOf,
  useStanding,
} from '../benchmarks/benchmark-model.js';
import { BenchmarkTable } from '../benchmarks/benchmark-table.js';
import { count, counted, money, percent, seconds, short } from '../format.js';
import { Awaited, Notice, useAnswer } from '../notice.js';
import { linkToBenchmarkReport } from '../reports/reports-page.js';
import { linkTo, replaceRoute } from '../route.js';
import { CompareTable, MOST_COMPARED } from '../comparison-columns.js';

/**
 * Compares arms of a benchmark.
 * @param named the arms chosen by the reader; empty = all
 */
export function CompareArms({ id, named }: { readonly id: string; readonly named: readonly string[] }) {
  const answer = useAnswer<BenchmarkStanding>(benchmarkPath(id));
  const curves = useAnswer<CurvesOfArms>(benchmarkPath(id, 'curves'));
  const runs = useAnswer(benchmarkPath(id, 'runs'), allRuns);
  const standing = useStanding(id, answer, () => {
    runs.reload();
    curves.reload();
  });
  return (
    <>
      <h1>Compare arms</h1>
      <Awaited answer={{ ...answer, data: standing }} what="the benchmark">
        {(known) => (
          <>
            <p>
              <a href={linkTo(['benchmarks', id])}>← {known.title}</a> · <a href={linkToBenchmarkReport(id)}>Report</a>
            </p>
            <ArmChoice id={id} all={known.arms.map(({ arm }) => arm)} chosen={chosenOf(known, named)} />
            <Awaited answer={curves} what="the results so far">
              {(shares) => (
                <Awaited answer={runs} what="its runs">
                  {(all) => (
                    <Compared id={id} standing={known} curves={shares} runs={all} names={chosenOf(known, named)} />
                  )}
                </Awaited>
              )}
            </Awaited>
          </>
        )}
      </Awaited>
    </>
  );
}

/** In the benchmark's order. */
function chosenOf({ arms }: BenchmarkStanding, named: readonly string[]): readonly string[] {
  const names = arms.map(({ arm }) => arm);
  const chosen = named.length === 0 ? names : names.filter((name) => named.includes(name));
  return chosen.slice(0, MOST_COMPARED);
}

interface ChoiceProps {
  readonly id: string;
  readonly all: readonly string[];
  readonly chosen: readonly string[];
}

function ArmChoice({ id, all, chosen }: ChoiceProps) {
  return (
    <fieldset class="choice">
      <legend>Arms</legend>
      {all.map((arm) => {
        const isChosen = chosen.includes(arm);
        const left = isChosen ? chosen.filter((each) => each !== arm) : [...chosen, arm].slice(-MOST_COMPARED);
        return (
          <label key={arm}>
            <input
              type="checkbox"
              checked={isChosen}
              // A single arm cannot be compared.
              disabled={isChosen && chosen.length < 3}
              onChange={() => {
                replaceRoute(linkTo(['compare', 'arms', id, ...all.filter((each) => left.includes(each))]));
              }}
            />{' '}
            {arm}
          </label>
        );
      })}
    </fieldset>
  );
}

interface ComparedProps {
  readonly id: string;
  readonly standing: BenchmarkStanding;
  readonly curves: CurvesOfArms;
  readonly runs: readonly BenchmarkRun[];
  readonly names: readonly string[];
}

function Compared({ id, standing, curves, runs, names }: ComparedProps) {
  const arms = armsOf(names, standing, curves, runs);
  const rows = useMemo(() => rowsOf(runs, names), [runs, names.join('\n')]);
  const apart = useMemo(() => disagreed(rows), [rows]);
  if (names.length < 2) return <Notice>The benchmark has only one arm, so there is nothing to compare.</Notice>;
  return (
    <>
      <section aria-labelledby="arms-title">
        <h2 id="arms-title">Results</h2>
        <p class="figures">Intervals are Wilson’s 95% intervals.</p>
        <CompareTable label="Arms side by side" heads={names}>
          {ARM_FACTS.map(([name, read]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {arms.map((arm) => (
                <td key={arm.standing.arm}>{read(arm)}</td>
              ))}
            </tr>
          ))}
        </CompareTable>
      </section>
      <Wins names={names} rows={rows} />
      <h2>Disagreements</h2>
      <p role="status">
        {counted(apart.length, 'issue')} right in one of these arms and wrong in another;{' '}
        {counted(gradedInAll(rows), 'issue')} graded in all of them.
      </p>
      {apart.length > 0 && <BenchmarkTable key={names.join('\n')} id={id} arms={names} rows={apart} />}
    </>
  );
}

/** How often an arm is right where another is wrong. */
function Wins({ names, rows }: { readonly names: readonly string[]; readonly rows: readonly IssueRow[] }) {
  const wins = winsOf(rows, names.length);
  return (
    <section aria-labelledby="wins-title">
      <h2 id="wins-title">Right where another is wrong</h2>
      <p class="figures">
        Number of issues that are right in the arm of the row and wrong in the arm of the column. The report has
        p-values.
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of arms against each other">
        <table class="list wins">
          <thead>
            <tr>
              <th scope="col">
                <span class="hidden">Right in</span>
              </th>
              {names.map((name) => (
                <th key={name} scope="col" class="number">
                  wrong in {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((name, own) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {names.map((other, column) => (
                  <td key={other} class="number">
                    {own === column ? '' : count(wins[own]?.[column] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

type Standing = BenchmarkStanding['arms'][number];

/** All data of an arm. */
interface ArmKnown {
  readonly standing: Standing;
  readonly curve: CurvesOfArms['arms'][number] | undefined;
  /** Runs that ended with a result. */
  readonly done: readonly BenchmarkRun[];
}

export function armsOf(
  names: readonly string[],
  standing: BenchmarkStanding,
  curves: CurvesOfArms,
  runs: readonly BenchmarkRun[],
): readonly ArmKnown[] {
  return names.flatMap((name) => {
    const own = standing.arms.find(({ arm }) => arm === name);
    if (own === undefined) return [];
    const curve = curves.arms.find(({ arm }) => arm === name);
    return [{ standing: own, curve, done: runs.filter(({ arm, status }) => arm === name && status === 'done') }];
  });
}

type Share = { readonly value: number; readonly low: number; readonly high: number } | null | undefined;

function withInterval(share: Share): string {
  if (share == null) return 'not graded';
  return `${percent(share.value)} (${(share.low * 100).toFixed(1)} to ${(share.high * 100).toFixed(1)})`;
}

function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

function timeOf(runs: readonly BenchmarkRun[]): string {
  const known = runs.flatMap(({ seconds: spent }) => spent ?? []);
  const middle = median(known);
  if (middle === null) return '–';
  return `${seconds(middle)} (${seconds(known.reduce((sum, each) => sum + each, 0))} in total)`;
}

/** The mean of the runs that are done; the total has what was spent on others, too. */
function costOf({ standing: { cost_usd, tokens }, done }: ArmKnown): string {
  const known = done.flatMap((run) => (cost_usd === null ? run.tokens : run.cost_usd) ?? []);
  if (known.length === 0) return '–';
  const mean = known.reduce((sum, each) => sum + each, 0) / known.length;
  if (cost_usd === null) return `${short(Math.round(mean))} tokens (${short(tokens)} in total)`;
  return `${money(mean)} (${money(cost_usd)} in total)`;
}

/** The rows of the table: a label and each arm's value. */
export const ARM_FACTS: readonly (readonly [string, (arm: ArmKnown) => string])[] = [
  ['Best@K: selected right', ({ curve }) => withInterval(curve?.selected)],
  ['Pass@1: a random candidate', ({ curve }) => withInterval(curve?.points[0]?.pass_at_k)],
  ['Pass@K: a perfect selector', ({ curve }) => withInterval(curve?.points.at(-1)?.pass_at_k)],
  ['Largest K', ({ curve }) => String(curve?.points.at(-1)?.k ?? '–')],
  ['Cost per issue', costOf],
  ['Time per issue, median', ({ done }) => timeOf(done)],
  ['Graded', ({ standing }) => count(standing.graded)],
  ['Right', ({ standing }) => count(standing.right)],
  ['Wrong', ({ standing }) => count(standing.wrong)],
  ['Label unknown', ({ standing }) => count(standing.unknown)],
  ['Selected', ({ standing }) => count(standing.selected)],
  ['No patch returned', ({ standing }) => count(standing.none)],
  ['Failed', ({ standing: { failed, cancelled, skipped } }) => count(failed + cancelled + skipped)],
  ['In progress', ({ standing: { queued, running } }) => count(queued + running)],
  ['Waiting', ({ standing }) => count(standing.waiting)],
];

/** Issues that one of these arms gets right and another wrong. */
export function disagreed(rows: readonly IssueRow[]): readonly IssueRow[] {
  const disagree = OUTCOMES['arms disagree'];
  return rows.filter(({ runs }) => disagree?.(runs.filter((run) => run !== undefined)) === true);
}

/** Number of issues right in the row's arm and wrong in the column's arm. */
export function winsOf(rows: readonly IssueRow[], arms: number): readonly (readonly number[])[] {
  const each = Array.from({ length: arms }, (_, arm) => arm);
  const wins = (own: number, other: number): number =>
    rows.filter(({ runs }) => runs[own]?.right === true && runs[other]?.right === false).length;
  return each.map((own) => each.map((other) => wins(own, other)));
}

/** Number of issues with a known outcome in all of these arms. */
export function gradedInAll(rows: readonly IssueRow[]): number {
  return rows.filter(({ runs }) => runs.every((run) => (run?.right ?? null) !== null)).length;
}
