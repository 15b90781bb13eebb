import type { BenchmarkRunsView } from '../../http/benchmarks/benchmarks.controller.js';

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
export function repositoryOf(instance: string): string {
  return instance.replace(/-[^-]*$/, '').replace('__', '/');
}

type Test = (run: BenchmarkRun) => boolean;

/** What a run can be filtered by, in the words of the page. */
export const STATES: Readonly<Record<string, Test>> = {
  waiting: ({ status }) => status === 'queued',
  running: ({ status }) => status === 'running',
  done: ({ status }) => status === 'done',
  failed: ({ status }) => status === 'failed' || status === 'cancelled',
};

const isRight: Test = ({ right }) => right === true;
const isWrong: Test = ({ right }) => right === false;

/** What an issue can be filtered by: something about its runs in all arms. */
export const OUTCOMES: Readonly<Record<string, (runs: readonly BenchmarkRun[]) => boolean>> = {
  right: (runs) => runs.some(isRight),
  wrong: (runs) => runs.some(isWrong),
  'not graded': (runs) => runs.some(({ status, right }) => status === 'done' && right === null),
  'a right candidate, not selected': (runs) => runs.some((run) => isWrong(run) && (run.right_candidates ?? 0) > 0),
  'no right candidate': (runs) => runs.some(({ graded, right_candidates: right }) => (graded ?? 0) > 0 && right === 0),
  'arms disagree': (runs) => runs.some(isRight) && runs.some(isWrong),
};

const highest = (runs: readonly BenchmarkRun[], of: (run: BenchmarkRun) => number | null): number =>
  Math.max(...runs.map((run) => of(run) ?? -Infinity));

/** By what issues can be sorted, largest first, whichever arm it is in; without any they stand as they were sent in. */
const ORDERS: Readonly<Record<string, (runs: readonly BenchmarkRun[]) => number>> = {
  'longest time': (runs) => highest(runs, ({ seconds }) => seconds),
  'highest cost': (runs) => highest(runs, ({ cost_usd, tokens }) => cost_usd ?? tokens),
  'least confidence': (runs) => highest(runs, ({ confidence }) => (confidence === null ? null : -confidence)),
};
export const ORDER_NAMES = Object.keys(ORDERS);

export interface Filter {
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
  const [inState, hasOutcome] = [STATES[state], OUTCOMES[outcome]];
  const found = rows.filter(({ instance, repository: own, runs }) => {
    if (!instance.toLowerCase().includes(letters) || (repository !== '' && own !== repository)) return false;
    const there = runs.filter((run) => run !== undefined);
    return (inState === undefined || there.some(inState)) && (hasOutcome?.(there) ?? true);
  });
  const by = ORDERS[order];
  if (by === undefined) return found;
  const values = new Map(found.map((row) => [row, by(row.runs.filter((run) => run !== undefined))]));
  // Two that are both unknown are equal; their difference is no number.
  return found.sort((a, b) => (values.get(b) ?? 0) - (values.get(a) ?? 0) || 0);
}
