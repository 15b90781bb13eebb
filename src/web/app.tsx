import { useEffect, useRef, useState } from 'preact/hooks';
import { keyWanted } from './api.js';
import { BenchmarkPage } from './benchmarks/benchmark-page.js';
import { BenchmarksPage } from './benchmarks/benchmark-table.js';
import { CompareArms } from './compare/compare-arms.js';
import { CompareReports } from './compare/compare-reports.js';
import { CompareRuns } from './compare/compare-runs.js';
import { KeyForm } from './notice.js';
import { ReportsPage } from './reports/reports-page.js';
import { linkTo, type Route, useRoute } from './route.js';
import { RunPage } from './run/run-page.js';
import { RunsPage } from './runs/runs-page.js';

export function App() {
  const route = useRoute();
  const [asksKey, setAsksKey] = useState(false);
  const [round, setRound] = useState(0);
  const main = useRef<HTMLElement>(null);
  useEffect(() => {
    const ask = (): void => {
      setAsksKey(true);
    };
    keyWanted.addEventListener('wanted', ask);
    return () => {
      keyWanted.removeEventListener('wanted', ask);
    };
  }, []);
  usePageFocus(route, main);
  const onKey = (): void => {
    setAsksKey(false);
    setRound((count) => count + 1);
  };
  return (
    <>
      <SkipLink onSkip={() => main.current?.focus()} />
      <Header page={sectionOf(route.parts)} />
      <main ref={main} tabIndex={-1} id="main">
        {asksKey ? <KeyForm onKey={onKey} /> : <Page key={round} route={route} />}
      </main>
    </>
  );
}

/** The first stop of the tab key. Moves focus by script, because a hash link would change the route. */
function SkipLink({ onSkip }: { readonly onSkip: () => void }) {
  return (
    <a
      class="skip"
      href="#main"
      onClick={(event) => {
        event.preventDefault();
        onSkip();
      }}
    >
      Skip to content
    </a>
  );
}

/** The section of the header that a page belongs to. */
function sectionOf([page = 'runs', what]: readonly string[]): string {
  if (page !== 'compare') return page;
  if (what === 'arms') return 'benchmarks';
  return what === 'reports' ? 'reports' : 'runs';
}

function Header({ page }: { readonly page: string }) {
  const link = (name: string, text: string) => (
    <a href={linkTo([name])} aria-current={page === name ? 'page' : undefined}>
      {text}
    </a>
  );
  return (
    <header class="top">
      <a class="brand" href={linkTo(['runs'])}>
        bestk
      </a>
      <nav aria-label="Pages">
        {link('runs', 'Runs')} {link('benchmarks', 'Benchmarks')} {link('reports', 'Reports')}
      </nav>
    </header>
  );
}

function Page({ route: { parts, query } }: { readonly route: Route }) {
  const [page = 'runs', ...rest] = parts;
  if (page === 'benchmarks') return <BenchmarksOrOne rest={rest} query={query} />;
  if (page === 'runs') return <RunsOrRun rest={rest} query={query} />;
  if (page === 'compare' && rest.length > 1) return <ComparePage place={rest} />;
  return page === 'reports' ? <ReportsPage /> : <NoPage />;
}

function RunsOrRun({
  rest: [id, what, name],
  query,
}: {
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}) {
  if (id === undefined) return <RunsPage query={query} />;
  const candidate = what === 'candidates' && name !== undefined ? name : null;
  return <RunPage key={id} id={id} candidate={candidate} query={query} />;
}

function BenchmarksOrOne({ rest: [id], query }: { readonly rest: readonly string[]; readonly query: URLSearchParams }) {
  return id === undefined ? <BenchmarksPage /> : <BenchmarkPage key={id} id={id} query={query} />;
}

function NoPage() {
  return (
    <div class="panel">
      <h1>Page not found</h1>
      <p>
        <a href={linkTo(['runs'])}>All runs</a>
      </p>
    </div>
  );
}

/** Moves focus to a new page, for screen readers; not to the first one, where reading starts anyway. */
function usePageFocus({ parts }: Route, main: { current: HTMLElement | null }): void {
  const page = parts.slice(0, 2).join('/');
  const first = useRef(true);
  useEffect(() => {
    document.title = `${titleOf(parts)} · bestk`;
    if (!first.current) {
      main.current?.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
    first.current = false;
  }, [page]);
}

function titleOf([page = 'runs', id]: readonly string[]): string {
  if (page === 'compare') return id === 'arms' || id === 'reports' ? `Compare ${id}` : 'Compare runs';
  if (page === 'reports') return 'Reports';
  if (page === 'benchmarks') return id === undefined ? 'Benchmarks' : 'Benchmark';
  return id === undefined ? 'Runs' : 'Run';
}

/** Compares runs, reports, or arms of a benchmark. Run ids never equal `arms` or `reports`. */
function ComparePage({ place }: { readonly place: readonly string[] }) {
  const [what, ...rest] = place;
  const [id = '', ...arms] = rest;
  if (what === 'arms') return <CompareArms key={id} id={id} named={arms} />;
  if (what === 'reports') return <CompareReports key={rest.join(' ')} ids={rest} />;
  return <CompareRuns key={place.join(' ')} ids={place} />;
}
