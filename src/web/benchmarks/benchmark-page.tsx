import { useEffect, useRef, useState } from 'preact/hooks';
import type { BenchmarkStanding, CurvesOfArms, PlotsOfBenchmark } from '../../http/benchmarks/benchmarks.controller.js';
import { type ApiProblem, postJson, problemOf } from '../api.js';
import { count, money, seconds, short } from '../format.js';
import { type Answer, Awaited, Notice, Problem, StatusMark, useAnswer } from '../notice.js';
import { linkToBenchmarkReport } from '../reports/reports-page.js';
import { PlotFigures, IssuesOfBenchmark, Standings } from './standings.js';
import { linkTo } from '../route.js';
import { allRuns, benchmarkPath, useStanding } from './benchmark-model.js';

/** One benchmark: results of its arms, and every issue in every arm, updated live. */
export function BenchmarkPage({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const answer = useAnswer<BenchmarkStanding>(benchmarkPath(id));
  const runs = useAnswer(benchmarkPath(id, 'runs'), allRuns);
  const curves = useAnswer<CurvesOfArms>(benchmarkPath(id, 'curves'));
  const reloadRest = (): void => {
    runs.reload();
    curves.reload();
  };
  const standing = useStanding(id, answer, reloadRest);
  const reload = (): void => {
    answer.reload();
    reloadRest();
  };
  const charts = useCharts(id, standing, runs.data !== null);
  return (
    <Awaited answer={{ ...answer, data: standing }} what="the benchmark">
      {(known) => (
        <>
          <header class="actions">
            <h1>{known.title}</h1>
            <StatusMark status={known.status} />
            <Moves id={id} status={known.status} onMoved={reload} />
            <a href={linkToBenchmarkReport(id)}>Report</a>
            <ToIssues />
            {known.arms.length > 1 && <a href={linkTo(['compare', 'arms', id])}>Compare arms</a>}
          </header>
          {known.note !== null && <Notice>{known.note}</Notice>}
          <p role="status" class="quiet">
            {standingText(known)}
          </p>
          <ArmsTable arms={known.arms} />
          <Awaited answer={curves} what="the results so far">
            {({ arms }) => <Standings arms={arms} />}
          </Awaited>
          <Charts charts={charts} isExpected={known.arms.some(({ graded }) => graded > 0)} />
          <h2 id="issues-title" tabIndex={-1}>
            Issues
          </h2>
          <Awaited answer={runs} what="its runs">
            {(all) => <IssuesOfBenchmark {...{ id, query }} arms={known.arms.map(({ arm }) => arm)} runs={all} />}
          </Awaited>
        </>
      )}
    </Awaited>
  );
}

/** Minimum time between redraws of the plots. */
const DRAWN_MS = 5_000;

/**
 * The report's plots, redrawn when more outcomes are known.
 * @param isReady false = wait, so that the table is loaded first
 */
function useCharts(id: string, standing: BenchmarkStanding | null, isReady: boolean): Answer<PlotsOfBenchmark> {
  const answer = useAnswer<PlotsOfBenchmark>(isReady ? benchmarkPath(id, 'plots') : null);
  const asked = useRef(0);
  const known = standing?.arms.map(({ graded, right, wrong }) => `${graded} ${right} ${wrong}`).join();
  useEffect(() => {
    if (!isReady || known === undefined) return undefined;
    if (asked.current === 0) {
      asked.current = Date.now();
      return undefined;
    }
    const timer = setTimeout(
      () => {
        asked.current = Date.now();
        answer.reload();
      },
      Math.max(0, asked.current + DRAWN_MS - Date.now()),
    );
    return () => {
      clearTimeout(timer);
    };
  }, [known, isReady]);
  return answer;
}

/** Skips the charts. Moves focus by script, because a hash link would change the route. */
function ToIssues() {
  return (
    <button
      type="button"
      class="link"
      onClick={() => {
        const title = document.getElementById('issues-title');
        title?.focus({ preventScroll: true });
        title?.scrollIntoView();
      }}
    >
      Issues
    </button>
  );
}

/** Reserves space for the charts, so that the layout does not shift when they arrive. */
function Charts({ charts, isExpected }: { readonly charts: Answer<PlotsOfBenchmark>; readonly isExpected: boolean }) {
  const { data, problem, reload } = charts;
  if (problem !== null) return <Problem problem={problem} retry={reload} />;
  if (data === null ? !isExpected : data.plots.length === 0) return null;
  return (
    // `npm run bench:benchmark` waits for an element with this label.
    <section class="arm-curve" aria-label="Charts">
      <details open>
        <summary>
          <h2>Charts</h2>
        </summary>
        {data === null ? <div class="plots-awaited" /> : <PlotFigures plots={data.plots} />}
      </details>
    </section>
  );
}

function standingText({ issues, arms, eta_s }: BenchmarkStanding): string {
  const sum = (value: (arm: BenchmarkStanding['arms'][number]) => number): number =>
    arms.reduce((total, arm) => total + value(arm), 0);
  const tokens = sum((arm) => arm.tokens);
  const left =
    eta_s === null ? '' : ` · about ${seconds(eta_s.likely)} left (${seconds(eta_s.low)} to ${seconds(eta_s.high)})`;
  return `${count(issues)} issues in ${count(arms.length)} arms · ${short(tokens)} tokens${left}`;
}

function ArmsTable({ arms }: Pick<BenchmarkStanding, 'arms'>) {
  const number = (value: number) => <td class="number">{value === 0 ? '–' : count(value)}</td>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of arms">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Arm</th>
            {[
              'Waiting',
              'In progress',
              'Selected',
              'None',
              'Failed',
              'Graded',
              'Right',
              'Wrong',
              'Unknown',
              'Cost',
            ].map((name) => (
              <th scope="col" class="number" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {arms.map((arm) => (
            <tr key={arm.arm}>
              <th scope="row">{arm.arm}</th>
              {number(arm.waiting)}
              {number(arm.queued + arm.running)}
              {number(arm.selected)}
              {number(arm.none)}
              {number(arm.failed + arm.cancelled + arm.skipped)}
              {number(arm.graded)}
              {number(arm.right)}
              {number(arm.wrong)}
              {number(arm.unknown)}
              <td class="number">{arm.cost_usd === null ? '–' : money(arm.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const MOVES: Readonly<Record<string, readonly string[]>> = {
  running: ['pause', 'cancel'],
  paused: ['resume', 'cancel'],
  done: ['resume'],
  failed: ['resume'],
  cancelled: ['resume'],
};

function Moves({ id, status, onMoved }: { id: string; status: string; onMoved: () => void }) {
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const move = (verb: string): void => {
    postJson(benchmarkPath(id, verb)).then(
      () => {
        setProblem(null);
        onMoved();
      },
      (error: unknown) => {
        setProblem(problemOf(error));
      },
    );
  };
  return (
    <>
      {(MOVES[status] ?? []).map((verb) => (
        <button
          key={verb}
          type="button"
          onClick={() => {
            move(verb);
          }}
        >
          {`${verb[0]?.toUpperCase() ?? ''}${verb.slice(1)}`}
        </button>
      ))}
      {problem !== null && <Problem problem={problem} />}
    </>
  );
}
