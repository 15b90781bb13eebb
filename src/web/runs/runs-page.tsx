import { useEffect } from 'preact/hooks';
import type { RunPageView } from '../../http/runs/run-page.js';
import { queryOf } from '../api.js';
import { CompareBar, useChosen } from '../compare/compare-bar.js';
import { FilterForm } from '../filter-form.js';
import { Awaited, Notice } from '../notice.js';
import { linkTo, readRoute, replaceRoute } from '../route.js';
import { type Answer, useAnswer } from '../use-answer.js';
import { RunsTable } from './runs-table.js';

const PAGE = 50;
const EVERY_MS = 3_000;

export function RunsPage({ query }: { readonly query: URLSearchParams }) {
  const [chosen, choose] = useChosen();
  const asked = askedIn(query);
  const answer = useAnswer<RunPageView>(`/v1/runs${queryOf({ limit: PAGE, ...asked })}`);
  useWatching(answer);
  const change = (changes: Readonly<Record<string, string | null>>): void => {
    // As it is now: a search is told a moment after it was typed, and a filter may have changed in between.
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
  if (isFiltered) return <Notice>No run fits. Take a filter away.</Notice>;
  return (
    <Notice>
      There are no runs yet. <code>bestk select</code>, <code>bestk solve</code> and <code>POST /v1/runs</code> make
      them.
    </Notice>
  );
}

/** Looks again while something may change and somebody looks. */
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

const STATUSES = [['queued,running', 'not ended'], 'queued', 'running', 'done', 'failed', 'cancelled'] as const;
