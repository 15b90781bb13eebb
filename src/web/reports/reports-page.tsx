import { useState, useEffect } from 'preact/hooks';
import { queryOf, currentKey, request, saveAs } from '../api.js';
import { CompareBar, useChosen } from '../comparison-columns.js';
import { moment } from '../format.js';
import { Awaited, Notice, Pager, useAnswer, KeyForm } from '../notice.js';
import { linkTo, readRoute } from '../route.js';

interface ReportList {
  readonly reports: readonly { readonly id: string; readonly title: string; readonly created_at: string }[];
  readonly next_cursor: string | null;
}

export function ReportsPage() {
  const [cursor, setCursor] = useState<string | null>(null);
  const [chosen, choose] = useChosen();
  const answer = useAnswer<ReportList>(`/v1/reports${queryOf({ cursor })}`);
  return (
    <>
      <h1>Reports</h1>
      {answer.problem?.status === 404 ? (
        <Notice>This service has no reports.</Notice>
      ) : (
        <Awaited answer={answer} what="reports">
          {(list) => (
            <>
              {list.reports.length > 1 && (
                <CompareBar what="report" chosen={chosen} link={linkTo(['compare', 'reports', ...chosen])} />
              )}
              <ReportTable list={list} chosen={chosen} onChoose={choose} />
              <Pager cursor={cursor} next={list.next_cursor} onTurn={setCursor} />
            </>
          )}
        </Awaited>
      )}
    </>
  );
}

interface TableProps {
  readonly list: ReportList;
  readonly chosen: readonly string[];
  readonly onChoose: (id: string) => void;
}

function ReportTable({ list: { reports }, chosen, onChoose }: TableProps) {
  if (reports.length === 0) {
    return (
      <Notice>
        There are no reports yet. <code>POST /v1/reports</code> makes one of finished runs.
      </Notice>
    );
  }
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of reports">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">
              <span class="hidden">Compare</span>
            </th>
            <th scope="col">Report</th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {reports.map(({ id, title, created_at }) => (
            <tr key={id} class={chosen.includes(id) ? 'chosen' : undefined}>
              <td>
                <input
                  type="checkbox"
                  checked={chosen.includes(id)}
                  aria-label={`Compare ${title}, ${id}`}
                  onChange={() => {
                    onChoose(id);
                  }}
                />
              </td>
              <th scope="row">
                <a href={linkToReport(id)}>{title === '' ? id : title}</a>
                <span class="quiet id">{id}</span>
              </th>
              <td class="time">{moment(created_at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The policy that the service sends with reports, placed before the report's content, which is untrusted. */
const POLICY =
  '<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">';

/** A link cannot carry the key, so with a key it leads to a page that fetches the report and shows it. */
export function linkToReport(id: string): string {
  return `${currentKey() === null ? '/v1/reports/' : '/report#'}${encodeURIComponent(id)}`;
}

/** Like linkToReport, for a benchmark's report. */
export function linkToBenchmarkReport(id: string): string {
  const place = encodeURIComponent(id);
  return currentKey() === null ? `/v1/benchmarks/${place}/report` : `/report#/benchmarks/${place}`;
}

/**
 * One report, by the id in the hash. Its content is untrusted: its frame has no scripts and an opaque origin, so that nothing
 * in it can access the key. Links to runs leave the frame when clicked.
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
