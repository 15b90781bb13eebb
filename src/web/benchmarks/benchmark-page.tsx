import { useEffect, useState } from 'preact/hooks';
import type {
  BenchmarkRunsView,
  BenchmarkStanding,
  CurvesOfArms,
} from '../../http/benchmarks/benchmarks.controller.js';
import { getJson, postJson, queryOf } from '../api.js';
import { count, money, seconds, short } from '../format.js';
import { Awaited, Notice, Problem, StatusMark } from '../notice.js';
import { linkToBenchmarkReport } from '../reports/report-page.js';
import { follow } from '../run/live-run.js';
import { type Answer, useAnswer } from '../use-answer.js';
import type { BenchmarkRun } from './benchmark-model.js';
import { IssuesOfBenchmark } from './issues-of-benchmark.js';
import { Standings } from './standings.js';

/** How often at most the table is read again, however much happens. */
const FRAME_MS = 2_000;

/** One benchmark: what its arms came to, and every issue in every arm, as it goes on. */
export function BenchmarkPage({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const answer = useAnswer<BenchmarkStanding>(pathOf(id));
  const runs = useAnswer(pathOf(id, 'runs'), allRuns);
  const curves = useAnswer<CurvesOfArms>(pathOf(id, 'curves'));
  const standing = useStanding(id, answer, () => {
    runs.reload();
    curves.reload();
  });
  return (
    <Awaited answer={{ ...answer, data: standing }} what="the benchmark">
      {(known) => (
        <>
          <header class="actions">
            <h1>{known.title}</h1>
            <StatusMark status={known.status} />
            <Moves id={id} status={known.status} onMoved={answer.reload} />
            <a href={linkToBenchmarkReport(id)}>Report</a>
          </header>
          {known.note !== null && <Notice>{known.note}</Notice>}
          <p role="status" class="quiet">
            {standingText(known)}
          </p>
          <ArmsTable arms={known.arms} />
          <Awaited answer={curves} what="what is right so far">
            {({ arms }) => <Standings arms={arms} />}
          </Awaited>
          <h2>Issues</h2>
          <Awaited answer={runs} what="its runs">
            {(all) => <IssuesOfBenchmark {...{ id, query }} arms={known.arms.map(({ arm }) => arm)} runs={all} />}
          </Awaited>
        </>
      )}
    </Awaited>
  );
}

function pathOf(id: string, ...rest: readonly string[]): string {
  return `/v1/benchmarks/${[id, ...rest].map(encodeURIComponent).join('/')}`;
}

async function allRuns(path: string, signal: AbortSignal): Promise<readonly BenchmarkRun[]> {
  const all: BenchmarkRun[] = [];
  for (let cursor: string | null = null; ;) {
    const page = (await getJson(`${path}${queryOf({ limit: 5_000, cursor })}`, signal)) as BenchmarkRunsView;
    all.push(...page.runs);
    cursor = page.next_cursor;
    if (cursor === null) return all;
  }
}

/** As the service tells it; the table is read again behind it. */
function useStanding(
  id: string,
  { data, reload }: Answer<BenchmarkStanding>,
  reloadRuns: () => void,
): BenchmarkStanding | null {
  const [told, setTold] = useState<BenchmarkStanding | null>(null);
  const status = data?.status;
  useEffect(() => {
    if (status === undefined) return undefined;
    const gone = new AbortController();
    let moved = false;
    const frame = setInterval(() => {
      if (moved) reloadRuns();
      moved = false;
    }, FRAME_MS);
    const take = (event: { readonly data: unknown }): void => {
      setTold(event.data as BenchmarkStanding);
      moved = true;
    };
    void follow(pathOf(id, 'events'), take, gone.signal).then(reloadRuns, () => undefined);
    return () => {
      clearInterval(frame);
      gone.abort();
    };
  }, [id, status, reload]);
  return told === null || (data !== null && data.updated_at > told.updated_at) ? data : told;
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
            {['Waiting', 'Under way', 'Selected', 'None', 'Failed', 'Graded', 'Right', 'Wrong', 'Cost'].map((name) => (
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
  const [problem, setProblem] = useState<Parameters<typeof Problem>[0]['problem'] | null>(null);
  const move = (verb: string): void => {
    postJson(pathOf(id, verb)).then(
      () => {
        setProblem(null);
        onMoved();
      },
      (error: unknown) => {
        setProblem(error as typeof problem);
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
