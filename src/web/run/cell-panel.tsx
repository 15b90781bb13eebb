import { useEffect, useRef } from 'preact/hooks';
import type { Cell } from '../../core/run/cell.js';
import type { GeneratedTest } from '../../core/run/generated-test.js';
import { queryOf, runPath } from '../api.js';
import { seconds } from '../format.js';
import { Loading, Problem, useAnswer } from '../notice.js';
import { OUTCOMES } from './matrix-model.js';

export interface OpenCell {
  readonly suite: Cell['suite'];
  readonly testId: string;
  /** Null = base. */
  readonly candidateId: string | null;
}

interface Props {
  readonly runId: string;
  readonly cell: OpenCell;
  readonly onClose: () => void;
}

/** One cell of the matrix with the end of its log, and the test itself. */
export function CellPanel({ runId, cell: { suite, testId, candidateId }, onClose }: Props) {
  const title = useRef<HTMLHeadingElement>(null);
  const of = candidateId === null ? { base: 'true' } : { candidate_id: candidateId };
  const path = `${runPath(runId, 'cells')}${queryOf({ suite, test_id: testId, ...of })}`;
  const { data, problem, reload } = useAnswer<{ readonly cells: readonly Cell[] }>(path);
  useEffect(() => {
    title.current?.focus();
  }, [path]);
  return (
    <section class="panel cell-panel" aria-labelledby="cell-title">
      <h3 id="cell-title" ref={title} tabIndex={-1}>
        {testId} on {candidateId ?? 'base'}
      </h3>
      <button type="button" class="close" onClick={onClose}>
        Close
      </button>
      {data === null && problem === null && <Loading what="the log" />}
      {problem !== null && <Problem problem={problem} retry={reload} />}
      {data?.cells.length === 0 && <p class="quiet">The log is there once the run is done.</p>}
      {data?.cells.map((each, index) => (
        <Execution key={index} cell={each} />
      ))}
      {suite === 'reproduction' && <TestText runId={runId} testId={testId} />}
    </section>
  );
}

function Execution({ cell }: { readonly cell: Cell }) {
  const { outcome, exit_code, duration_ms, same_as, passed, total, lost, log_tail } = cell;
  const parts = [
    OUTCOMES[outcome].word,
    exit_code !== null && `exit ${exit_code}`,
    seconds(duration_ms / 1_000),
    passed !== null && total !== null && `${passed} of ${total} hold`,
    same_as !== null && `run once, for ${same_as}`,
  ];
  return (
    <>
      <p class="figures">{parts.filter(Boolean).join(' · ')}</p>
      {lost.length > 0 && (
        <details>
          <summary>{lost.length} lost</summary>
          <ul class="names">
            {lost.map((name) => (
              <li key={name}>{name}</li>
            ))}
          </ul>
        </details>
      )}
      <pre class="text log" tabIndex={0} aria-label="End of the log">
        {log_tail === '' ? '(it printed nothing)' : log_tail}
      </pre>
    </>
  );
}

function TestText({ runId, testId }: { readonly runId: string; readonly testId: string }) {
  const { data } = useAnswer<GeneratedTest>(runPath(runId, 'tests', testId));
  if (data === null) return null;
  return (
    <details>
      <summary>
        The test: {data.path}
        {data.author !== null && `, by ${data.author}`}
      </summary>
      <pre class="text" tabIndex={0} aria-label="The test">
        {data.content}
      </pre>
    </details>
  );
}
