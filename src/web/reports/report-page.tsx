import { useEffect } from 'preact/hooks';
import { currentKey, request, saveAs } from '../api.js';
import { Awaited, KeyForm, useAnswer } from '../notice.js';
import { readRoute } from '../route.js';

/** What the service says of a report where it sends one itself; before the report's own words, for they are none of ours. */
const POLICY =
  '<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">';

/** A link cannot carry the key, so the page of this path fetches the report and shows it. */
export function linkToReport(id: string): string {
  return `${currentKey() === null ? '/v1/reports/' : '/report#'}${encodeURIComponent(id)}`;
}

/** As linkToReport, of a benchmark. */
export function linkToBenchmarkReport(id: string): string {
  const place = encodeURIComponent(id);
  return currentKey() === null ? `/v1/benchmarks/${place}/report` : `/report#/benchmarks/${place}`;
}

/**
 * One report, by the id behind the hash. What stands in it was written by others: its frame has no scripts and an origin
 * of its own, so that nothing in it reaches the key. Links to runs lead out of the frame, when they are clicked.
 */
export function ReportPage() {
  const { parts } = readRoute(window.location.hash);
  const isBenchmark = parts.length > 1;
  const id = encodeURIComponent(parts.at(-1) ?? '');
  const page = useAnswer(isBenchmark ? `/v1/benchmarks/${id}/report` : `/v1/reports/${id}`, getPage);
  useEffect(() => {
    document.title = 'Report · bestk';
  }, []);
  return (
    <div class="report-page">
      <header class="top">
        <a class="brand" href="/#/runs">
          bestk
        </a>
        <nav aria-label="Pages">
          {isBenchmark ? <a href={`/#/benchmarks/${id}`}>Benchmark</a> : <a href="/#/reports">Reports</a>}
        </nav>
        {page.data !== null && <Download id={id} page={page.data} />}
      </header>
      {page.problem?.status === 401 ? (
        <main>
          <KeyForm onKey={page.reload} />
        </main>
      ) : (
        <Awaited answer={page} what="the report">
          {(html) => <iframe title="Report" sandbox="allow-top-navigation-by-user-activation" srcdoc={POLICY + html} />}
        </Awaited>
      )}
    </div>
  );
}

async function getPage(path: string, signal: AbortSignal): Promise<string> {
  return (await request(path, { signal, headers: { Accept: 'text/html' } })).text();
}

function Download({ id, page }: { readonly id: string; readonly page: string }) {
  return (
    <button
      type="button"
      onClick={() => {
        saveAs(new Blob([page], { type: 'text/html' }), `bestk-report-${id}.html`);
      }}
    >
      Download
    </button>
  );
}
