import { useMemo } from 'preact/hooks';
import { count } from '../format.js';
import { FilterForm } from '../filter-form.js';
import { Notice } from '../notice.js';
import { linkTo, readRoute, replaceRoute } from '../route.js';
import { type BenchmarkRun, filtered, ORDER_NAMES, OUTCOMES, rowsOf, STATES } from './benchmark-model.js';
import { BenchmarkTable } from './benchmark-table.js';

interface Props {
  readonly id: string;
  readonly arms: readonly string[];
  readonly runs: readonly BenchmarkRun[];
  readonly query: URLSearchParams;
}

const NAMES = ['q', 'repository', 'state', 'outcome', 'order'] as const;

/** The issues that the reader wants to see; what was chosen stands in the address. */
export function IssuesOfBenchmark({ id, arms, runs, query }: Props) {
  const rows = useMemo(() => rowsOf(runs, arms), [runs, arms.join()]);
  const repositories = useMemo(() => [...new Set(rows.map(({ repository }) => repository))].sort(), [rows]);
  const value = (name: (typeof NAMES)[number]): string => query.get(name) ?? '';
  const shown = filtered(rows, {
    q: value('q'),
    repository: value('repository'),
    state: value('state'),
    outcome: value('outcome'),
    order: value('order'),
  });
  const choice = (name: (typeof NAMES)[number], label: string, options: readonly string[]) => {
    return { name, label, value: value(name), options };
  };
  const change = (name: string, to: string | null): void => {
    // As it is now: what was typed is told a moment later, and a filter may have changed in between.
    const now = readRoute(window.location.hash).query;
    const kept = Object.fromEntries(NAMES.map((each) => [each, now.get(each)]));
    replaceRoute(linkTo(['benchmarks', id], { ...kept, [name]: to }));
  };
  return (
    <>
      <FilterForm
        label="Issue"
        q={value('q')}
        choices={[
          choice('repository', 'Repository', repositories),
          choice('state', 'State', Object.keys(STATES)),
          choice('outcome', 'Outcome in some arm', Object.keys(OUTCOMES)),
          { ...choice('order', 'Sort', ORDER_NAMES), none: 'as sent in' },
        ]}
        onChange={change}
      >
        <span class="quiet" role="status">
          {count(shown.length)} of {count(rows.length)} issues
        </span>
      </FilterForm>
      {shown.length === 0 && rows.length > 0 && <Notice>No issue fits. Take a filter away.</Notice>}
      <BenchmarkTable key={query.toString()} id={id} arms={arms} rows={shown} />
    </>
  );
}
