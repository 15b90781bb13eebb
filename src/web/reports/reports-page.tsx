import { useState } from 'preact/hooks';
import { queryOf } from '../api.js';
import { CompareBar, useChosen } from '../compare/columns.js';
import { moment } from '../format.js';
import { Awaited, Notice, useAnswer } from '../notice.js';
import { linkTo } from '../route.js';
import { linkToReport } from './report-page.js';

interface ReportList {
  readonly reports: readonly { readonly id: string; readonly title: string; readonly created_at: string }[];
  readonly next_cursor: string | null;
}

export function ReportsPage() {
  const [cursor, setCursor] = useState<string | null>(null);
  const [chosen, choose] = useChosen();
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
              {list.reports.length > 1 && (
                <CompareBar what="report" chosen={chosen} link={linkTo(['compare', 'reports', ...chosen])} />
              )}
              <ReportTable list={list} chosen={chosen} onChoose={choose} />
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
