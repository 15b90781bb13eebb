import { useEffect, useState } from 'preact/hooks';
import type { BenchmarkRunsView, BenchmarkStanding } from '../../http/benchmarks/benchmarks.controller.js';
import { getJson, queryOf } from '../api.js';
import { ENDED, follow } from '../run/live-run.js';
import type { Answer } from '../notice.js';

export type BenchmarkRun = BenchmarkRunsView['runs'][number];

/** An issue with its run in each arm, in the order of the arms. */
export interface IssueRow {
  readonly instance: string;
  readonly repository: string;
  readonly runs: readonly (BenchmarkRun | undefined)[];
}

export function rowsOf(runs: readonly BenchmarkRun[], arms: readonly string[]): readonly IssueRow[] {
  const byIssue = new Map<string, Map<string, BenchmarkRun>>();
  for (const run of runs) {
    const known = byIssue.get(run.instance_id);
    if (known === undefined) byIssue.set(run.instance_id, new Map([[run.arm, run]]));
    else known.set(run.arm, run);
  }
  return [...byIssue].map(([instance, of]) => ({
    instance,
    repository: repositoryOf(instance),
    runs: arms.map((arm) => of.get(arm)),
  }));
}

/** `org__repo-123` → `org/repo`. */
function repositoryOf(instance: string): string {
  return instance.replace(/-[^-]*$/, '').replace('__', '/');
}

type Test = (run: BenchmarkRun) => boolean;

/** Filters on the state of a run, by their labels on the page. */
export const STATES: Readonly<Record<string, Test>> = {
  waiting: ({ status }) => status === 'queued',
  running: ({ status }) => status === 'running',
  done: ({ status }) => status === 'done',
  failed: ({ status }) => status === 'failed' || status === 'cancelled',
};

const isRight: Test = ({ right }) => right === true;
const isWrong: Test = ({ right }) => right === false;

/** Filters on an issue's outcomes, over its runs in all arms. */
export const OUTCOMES: Readonly<Record<string, (runs: readonly BenchmarkRun[]) => boolean>> = {
  right: (runs) => runs.some(isRight),
  wrong: (runs) => runs.some(isWrong),
  'not graded': (runs) => runs.some(({ status, graded }) => status === 'done' && graded === null),
  'label unknown': (runs) => runs.some(({ graded, right }) => graded !== null && right === null),
  'right candidate not selected': (runs) => runs.some((run) => isWrong(run) && (run.right_candidates ?? 0) > 0),
  'no right candidate': (runs) =>
    runs.some((run) => (run.graded ?? 0) > 0 && run.right_candidates === 0 && run.ungraded === 0),
  'arms disagree': (runs) => runs.some(isRight) && runs.some(isWrong),
};

const highest = (runs: readonly BenchmarkRun[], of: (run: BenchmarkRun) => number | null): number =>
  Math.max(...runs.map((run) => of(run) ?? -Infinity));

/**
 * Sort orders of issues, by the highest value in any arm, largest first; without one, issues keep the order of the upload.
 */
const ORDERS: Readonly<Record<string, (runs: readonly BenchmarkRun[]) => number>> = {
  'longest time': (runs) => highest(runs, ({ seconds }) => seconds),
  'highest cost': (runs) => highest(runs, ({ cost_usd, tokens }) => cost_usd ?? tokens),
  'lowest confidence': (runs) => highest(runs, ({ confidence }) => (confidence === null ? null : -confidence)),
};
export const ORDER_NAMES = Object.keys(ORDERS);

interface Filter {
  readonly q: string;
  readonly repository: string;
  readonly state: string;
  readonly outcome: string;
  readonly order: string;
}

export function filtered(
  rows: readonly IssueRow[],
  { q, repository, state, outcome, order }: Filter,
): readonly IssueRow[] {
  const letters = q.toLowerCase();
  const [inState, hasOutcome, by] = [named(STATES, state), named(OUTCOMES, outcome), named(ORDERS, order)];
  const found = rows.filter(({ instance, repository: own, runs }) => {
    if (!instance.toLowerCase().includes(letters) || (repository !== '' && own !== repository)) return false;
    const there = runs.filter((run) => run !== undefined);
    return (inState === undefined || there.some(inState)) && (hasOutcome?.(there) ?? true);
  });
  if (by === undefined) return found;
  const values = new Map(found.map((row) => [row, by(row.runs.filter((run) => run !== undefined))]));
  // If both are unknown, the difference is NaN; they count as equal.
  return found.sort((a, b) => (values.get(b) ?? 0) - (values.get(a) ?? 0) || 0);
}

/** A name in the page's address may be any text, also that of a property every object has. */
function named<T>(known: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(known, name) ? known[name] : undefined;
}

/** Minimum time between reloads of dependent data. */
const FRAME_MS = 2_000;

/** API path of a benchmark or a part of it. */
export function benchmarkPath(id: string, ...rest: readonly string[]): string {
  return `/v1/benchmarks/${[id, ...rest].map(encodeURIComponent).join('/')}`;
}

/**
 * Every run of a benchmark, page by page.
 * @param path of its runs
 */
export async function allRuns(path: string, signal: AbortSignal): Promise<readonly BenchmarkRun[]> {
  const all: BenchmarkRun[] = [];
  for (let cursor: string | null = null; ;) {
    const page = (await getJson(`${path}${queryOf({ limit: 5_000, cursor })}`, signal)) as BenchmarkRunsView;
    all.push(...page.runs);
    cursor = page.next_cursor;
    if (cursor === null) return all;
  }
}

/** The benchmark, updated by the service's events; `reloadRest` reloads the dependent data. */
export function useStanding(
  id: string,
  { data, reload }: Answer<BenchmarkStanding>,
  reloadRest: () => void,
): BenchmarkStanding | null {
  const [told, setTold] = useState<BenchmarkStanding | null>(null);
  useEffect(() => {
    if (data === null || ENDED.includes(data.status)) return undefined;
    const gone = new AbortController();
    let moved = false;
    const frame = setInterval(() => {
      if (moved) reloadRest();
      moved = false;
    }, FRAME_MS);
    const take = (event: { readonly data: unknown }): void => {
      setTold(event.data as BenchmarkStanding);
      moved = true;
    };
    const end = (): void => {
      if (gone.signal.aborted) return;
      moved = false;
      reloadRest();
      // If it has been resumed meanwhile, it is followed again.
      reload();
    };
    void follow(benchmarkPath(id, 'events'), take, gone.signal).then(end, () => undefined);
    return () => {
      clearInterval(frame);
      gone.abort();
    };
  }, [id, data]);
  return told === null || (data !== null && data.updated_at > told.updated_at) ? data : told;
}
