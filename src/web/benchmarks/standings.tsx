import { useMemo } from 'preact/hooks';
import type { CurvesOfArms } from '../../http/benchmarks/benchmarks.controller.js';
import { FilterForm } from '../filter-form.js';
import { count, counted, percent } from '../format.js';
import { Notice } from '../notice.js';
import { linkTo, readRoute, replaceRoute } from '../route.js';
import { type BenchmarkRun, filtered, ORDER_NAMES, OUTCOMES, rowsOf, STATES } from './benchmark-model.js';
import { BenchmarkTable } from './benchmark-table.js';

type CurveOfArm = CurvesOfArms['arms'][number];

/** Best@K of each arm between a random candidate and a perfect selector, over what is graded so far. */
export function Standings({ arms }: CurvesOfArms) {
  const graded = arms.filter(({ selected }) => selected !== null);
  if (graded.length === 0) return <p class="quiet">Nothing is graded yet: nothing is known of right and wrong.</p>;
  return (
    <section>
      <h2>Right so far</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Right so far">
        <table class="list standings">
          <thead>
            <tr>
              <th scope="col">Arm</th>
              <th scope="col" class="number" title="a random candidate">
                Pass@1
              </th>
              <th scope="col" class="number" title="what was selected, with Wilson's interval of 95 %">
                Best@K
              </th>
              <th scope="col" class="number" title="a perfect selector">
                Pass@K
              </th>
              <th scope="col">0 to 100 %: ▲ Pass@1, ● Best@K with its interval, ┃ Pass@K</th>
            </tr>
          </thead>
          <tbody>
            {graded.map((curve) => (
              <Row key={curve.arm} curve={curve} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ curve: { arm, selected, points } }: { readonly curve: CurveOfArm }) {
  const [first, last] = [points[0]?.pass_at_k, points.at(-1)?.pass_at_k];
  return (
    <tr>
      <th scope="row">{arm}</th>
      <td class="number">{first === undefined ? '–' : percent(first.value)}</td>
      <td class="number">
        {selected !== null && percent(selected.value)}{' '}
        <span class="quiet">{selected !== null && intervalOf(selected)}</span>
      </td>
      <td class="number">{last === undefined ? '–' : percent(last.value)}</td>
      <td>
        <span class="range" aria-hidden="true">
          {selected !== null && (
            <span
              class="range-interval"
              style={{ left: percent(selected.low), width: percent(selected.high - selected.low) }}
            />
          )}
          <Mark name="first" share={first} />
          <Mark name="all" share={last} />
          <Mark name="best" share={selected ?? undefined} />
        </span>
      </td>
    </tr>
  );
}

function Mark({ name, share }: { readonly name: string; readonly share: { readonly value: number } | undefined }) {
  if (share === undefined) return null;
  return <span class={`range-${name}`} style={{ left: percent(share.value) }} />;
}

function intervalOf({ low, high, issues }: NonNullable<CurveOfArm['selected']>): string {
  return `(${(low * 100).toFixed(1)} to ${(high * 100).toFixed(1)}, ${counted(issues, 'issue')})`;
}

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
