import { useEffect } from 'preact/hooks';
import type { RunPageView } from '../../http/runs/run-views.js';
import { queryOf } from '../api.js';
import { CompareBar, useChosen } from '../comparison-columns.js';
import { FilterForm } from '../filter-form.js';
import { moment, money } from '../format.js';
import { type Answer, Awaited, Notice, StatusMark, useAnswer } from '../notice.js';
import { linkTo, readRoute, replaceRoute } from '../route.js';

const PAGE = 50;
const EVERY_MS = 3_000;

export function RunsPage({ query }: { readonly query: URLSearchParams }) {
  const [chosen, choose] = useChosen();
  const asked = askedIn(query);
  const answer = useAnswer<RunPageView>(`/v1/runs${queryOf({ limit: PAGE, ...asked })}`);
  useWatching(answer);
  const change = (changes: Readonly<Record<string, string | null>>): void => {
    // The current address: searches are reported with a delay, and a filter may have changed meanwhile.
    const now = askedIn(readRoute(window.location.hash).query);
    replaceRoute(linkTo(['runs'], { ...now, cursor: null, ...changes }));
  };
  return (
    <>
      <h1>Runs</h1>
      <FilterForm
        label="Search"
        q={asked.q ?? ''}
        placeholder="instance, run or candidate"
        choices={[{ name: 'status', label: 'Status', value: asked.status ?? '', options: STATUSES }]}
        onChange={(name, to) => {
          change({ [name]: to });
        }}
      />
      <CompareBar what="run" chosen={chosen} link={linkTo(['compare', ...chosen])} />
      <Awaited answer={answer} what="runs">
        {({ runs, next_cursor }) => (
          <>
            {runs.length === 0 && <NoRuns isFiltered={(asked.q ?? asked.status ?? '') !== ''} />}
            {runs.length > 0 && (
              <RunsTable
                runs={runs}
                sort={asked.sort ?? '-created'}
                chosen={chosen}
                onChoose={choose}
                onSort={(sort) => {
                  change({ sort });
                }}
              />
            )}
            <nav class="pager actions" aria-label="Pages of runs">
              {asked.cursor !== null && <a href={linkTo(['runs'], { ...asked, cursor: null })}>First page</a>}
              {next_cursor !== null && <a href={linkTo(['runs'], { ...asked, cursor: next_cursor })}>Next page</a>}
            </nav>
          </>
        )}
      </Awaited>
    </>
  );
}

type Asked = Readonly<Record<'q' | 'status' | 'sort' | 'cursor', string | null>>;

function askedIn(query: URLSearchParams): Asked {
  const [q, status, sort, cursor] = [query.get('q'), query.get('status'), query.get('sort'), query.get('cursor')];
  return { q, status, sort, cursor };
}

function NoRuns({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <Notice>No runs match. Remove a filter.</Notice>;
  return (
    <Notice>
      There are no runs yet. <code>bestk select</code>, <code>bestk solve</code> and <code>POST /v1/runs</code> create
      them.
    </Notice>
  );
}

/** Polls while the page is visible, more often while a run is open or the service is unreachable. */
function useWatching({ data, problem, reload }: Answer<RunPageView>): void {
  const moves = data?.runs.some(({ status }) => status === 'queued' || status === 'running') ?? false;
  const wait = moves || problem?.status === 0 ? EVERY_MS : 5 * EVERY_MS;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, wait);
    return () => {
      clearInterval(timer);
    };
  }, [wait, reload]);
}

const STATUSES = [['queued,running', 'not finished'], 'queued', 'running', 'done', 'failed', 'cancelled'] as const;

type Row = RunPageView['runs'][number];

interface Props {
  readonly runs: readonly Row[];
  /** `-cost`: by cost, descending. */
  readonly sort: string;
  readonly chosen: readonly string[];
  readonly onChoose: (id: string) => void;
  readonly onSort: (sort: string) => void;
}

function RunsTable({ runs, sort, chosen, onChoose, onSort }: Props) {
  const column = (name: string, text: string, className = '') => (
    <SortHeader {...{ name, text, sort, onSort, className }} />
  );
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of runs">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">Compare</span>
            </th>
            {column('instance', 'Instance')}
            <th scope="col">Status</th>
            {column('k', 'K', 'number')}
            <th scope="col">Preset</th>
            <th scope="col">Selected</th>
            <th scope="col">Decided by</th>
            {column('cost', 'Cost', 'number')}
            {column('created', 'Created')}
          </tr>
        </thead>
        <tbody>
          {runs.map((run) => (
            <RunRow key={run.id} run={run} isChosen={chosen.includes(run.id)} onChoose={onChoose} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RunRow({ run, isChosen, onChoose }: { run: Row; isChosen: boolean; onChoose: (id: string) => void }) {
  const name = run.instance_id ?? run.id;
  return (
    <tr class={isChosen ? 'chosen' : undefined}>
      <td>
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={`Compare ${name}, ${run.id}`}
          onChange={() => {
            onChoose(run.id);
          }}
        />
      </td>
      <th scope="row">
        <a href={linkTo(['runs', run.id])}>{name}</a>
        <span class="quiet id">{run.id}</span>
      </th>
      <td>
        <StatusMark status={run.status} />
        {run.failure !== null && <span class="quiet failed-why">{`${run.failure.message} ${run.failure.next}`}</span>}
      </td>
      <td class="number">{run.k ?? '–'}</td>
      <td>{run.preset ?? '–'}</td>
      <td>
        <Outcome run={run} />
      </td>
      <td>{run.deciding_stage ?? '–'}</td>
      <td class="number">{run.cost_usd === null ? '–' : money(run.cost_usd)}</td>
      <td class="time">{moment(run.created_at)}</td>
    </tr>
  );
}

function Outcome({ run: { status, candidate_id } }: { readonly run: Row }) {
  if (candidate_id !== null) return <code>{candidate_id}</code>;
  return <span>{status === 'done' ? 'no patch returned' : '–'}</span>;
}

interface HeaderProps extends Pick<Props, 'sort' | 'onSort'> {
  readonly name: string;
  readonly text: string;
  readonly className: string;
}

function SortHeader({ name, text, sort, onSort, className }: HeaderProps) {
  const isBy = sort.replace('-', '') === name;
  const falls = sort.startsWith('-');
  const order = falls ? 'descending' : 'ascending';
  return (
    <th scope="col" class={className} aria-sort={isBy ? order : undefined}>
      <button
        type="button"
        class="sort"
        onClick={() => {
          onSort(isBy && falls ? name : `-${name}`);
        }}
      >
        {text} <span aria-hidden="true">{isBy ? (falls ? '▾' : '▴') : '▹'}</span>
      </button>
    </th>
  );
}
