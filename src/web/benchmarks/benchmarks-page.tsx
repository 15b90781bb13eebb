import { useState } from 'preact/hooks';
import type { BenchmarksView } from '../../http/benchmarks/benchmarks.controller.js';
import { queryOf } from '../api.js';
import { moment } from '../format.js';
import { Awaited, Notice, StatusMark } from '../notice.js';
import { linkTo } from '../route.js';
import { useAnswer } from '../use-answer.js';

/** Benchmarks, newest first. */
export function BenchmarksPage() {
  const [cursor, setCursor] = useState<string | null>(null);
  const answer = useAnswer<BenchmarksView>(`/v1/benchmarks${queryOf({ cursor })}`);
  return (
    <>
      <h1>Benchmarks</h1>
      <Awaited answer={answer} what="benchmarks">
        {({ benchmarks, next_cursor }) => (
          <>
            {benchmarks.length === 0 && (
              <Notice>
                There is no benchmark yet. <code>POST /v1/benchmarks</code> takes one; docs/bench.md says how.
              </Notice>
            )}
            {benchmarks.length > 0 && <BenchmarksTable benchmarks={benchmarks} />}
            <p class="actions">
              {next_cursor !== null && (
                <button
                  type="button"
                  onClick={() => {
                    setCursor(next_cursor);
                  }}
                >
                  Older
                </button>
              )}
            </p>
          </>
        )}
      </Awaited>
    </>
  );
}

function BenchmarksTable({ benchmarks }: Pick<BenchmarksView, 'benchmarks'>) {
  return (
    <table class="list">
      <thead>
        <tr>
          <th scope="col">Title</th>
          <th scope="col">Status</th>
          <th scope="col">Created</th>
        </tr>
      </thead>
      <tbody>
        {benchmarks.map(({ id, title, status, created_at }) => (
          <tr key={id}>
            <th scope="row">
              <a href={linkTo(['benchmarks', id])}>{title}</a>
              <span class="quiet id">{id}</span>
            </th>
            <td>
              <StatusMark status={status} />
            </td>
            <td class="time">{moment(created_at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
