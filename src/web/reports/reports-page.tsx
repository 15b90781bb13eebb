import { useState } from 'preact/hooks';
import { queryOf } from '../api.js';
import { moment } from '../format.js';
import { Awaited, Notice } from '../notice.js';
import { useAnswer } from '../use-answer.js';
import { linkToReport } from './report-page.js';

interface ReportList {
  readonly reports: readonly { readonly id: string; readonly title: string; readonly created_at: string }[];
  readonly next_cursor: string | null;
}

export function ReportsPage() {
  const [cursor, setCursor] = useState<string | null>(null);
  const answer = useAnswer<ReportList>(`/v1/reports${queryOf({ cursor })}`);
  const button = (text: string, to: string | null) => (
    <button
      type="button"
      onClick={() => {
        setCursor(to);
      }}
    >
      {text}
    </button>
  );
  return (
    <>
      <h1>Reports</h1>
      {answer.problem?.status === 404 ? (
        <Notice>This service has no reports.</Notice>
      ) : (
        <Awaited answer={answer} what="reports">
          {(list) => (
            <>
              <ReportTable list={list} />
              <p class="actions">
                {cursor !== null && button('First page', null)}
                {list.next_cursor !== null && button('Older', list.next_cursor)}
              </p>
            </>
          )}
        </Awaited>
      )}
    </>
  );
}

function ReportTable({ list: { reports } }: { readonly list: ReportList }) {
  if (reports.length === 0) {
    return (
      <Notice>
        No report was made yet. <code>bestk report</code> and <code>POST /v1/reports</code> make them.
      </Notice>
    );
  }
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of reports">
      <table class="list">
        <thead>
          <tr>
            <th scope="col">Report</th>
            <th scope="col">Made</th>
          </tr>
        </thead>
        <tbody>
          {reports.map(({ id, title, created_at }) => (
            <tr key={id}>
              <td>
                <a href={linkToReport(id)}>{title === '' ? id : title}</a>
              </td>
              <td>{moment(created_at)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
