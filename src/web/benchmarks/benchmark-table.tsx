import type { VNode } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { BenchmarksView } from '../../http/benchmarks/benchmarks.controller.js';
import { queryOf } from '../api.js';
import { moment, money, seconds, short } from '../format.js';
import { Awaited, Notice, Pager, StatusMark, useAnswer } from '../notice.js';
import { linkTo } from '../route.js';
import type { BenchmarkRun, IssueRow } from './benchmark-model.js';

/** Rows shown at first, and added whenever the end comes near. */
const STEP = 60;

interface Props {
  readonly id: string;
  readonly arms: readonly string[];
  readonly rows: readonly IssueRow[];
}

/** Every issue in every arm; arrow keys move between runs. */
export function BenchmarkTable({ id, arms, rows }: Props) {
  const [most, setMost] = useState(STEP);
  const body = useRef<HTMLTableSectionElement>(null);
  // Rendered rows are reused, so that adding rows does not diff the existing ones.
  const made = useMemo(() => new WeakMap<IssueRow, VNode>(), [id, arms.join()]);
  const rowOf = (row: IssueRow): VNode => {
    const known = made.get(row) ?? <Row key={row.instance} {...{ id, arms, row }} />;
    made.set(row, known);
    return known;
  };
  const press = (event: KeyboardEvent): void => {
    if (body.current === null || !moveFocus(body.current, event.target, event.key)) return;
    event.preventDefault();
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of issues">
      <table class="list issues">
        <thead>
          <tr>
            <th scope="col">Issue</th>
            {arms.map((arm) => (
              <th scope="col" key={arm}>
                {arm}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={press}>
          {rows.slice(0, most).map(rowOf)}
        </tbody>
      </table>
      {most < rows.length && (
        <More
          left={rows.length - most}
          onMore={() => {
            setMost((count) => count + STEP);
          }}
        />
      )}
    </div>
  );
}

function Row({ id, arms, row: { instance, runs } }: Pick<Props, 'id' | 'arms'> & { readonly row: IssueRow }) {
  return (
    <tr>
      <th scope="row">{instance}</th>
      {runs.map((run, index) => (
        <td key={arms[index]}>
          <RunCell benchmark={id} run={run} />
        </td>
      ))}
    </tr>
  );
}

/** Requests more rows as soon as it is close to the visible area. */
function More({ left, onMore }: { readonly left: number; readonly onMore: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (button.current === null) return undefined;
    const watch = new IntersectionObserver(
      (seen) => {
        if (seen.some(({ isIntersecting }) => isIntersecting)) onMore();
      },
      { rootMargin: '800px' },
    );
    watch.observe(button.current);
    return () => {
      watch.disconnect();
    };
  }, [left]);
  return (
    <button ref={button} type="button" onClick={onMore}>
      {left} more
    </button>
  );
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-20, 0],
  PageDown: [20, 0],
  Home: [-Infinity, 0],
  End: [Infinity, 0],
};

/**
 * Moves to the next run with a link in that direction.
 * @returns whether the key is a movement key
 */
function moveFocus(body: HTMLElement, from: EventTarget | null, key: string): boolean {
  const move = MOVES[key];
  const cell = from instanceof Element ? from.closest('td') : null;
  if (move === undefined || cell?.parentElement == null) return false;
  const [down, right] = move;
  const rows = [...body.children];
  const at = Math.max(0, Math.min(rows.length - 1, rows.indexOf(cell.parentElement) + down));
  const onTheWay = down < 0 ? rows.slice(0, at + 1).reverse() : rows.slice(at, down === 0 ? at + 1 : undefined);
  for (const row of onTheWay) {
    const link = row.children[cell.cellIndex + right]?.querySelector('a');
    if (link == null) continue;
    link.focus();
    break;
  }
  return true;
}

function RunCell({ benchmark, run }: { readonly benchmark: string; readonly run: BenchmarkRun | undefined }) {
  if (run === undefined) return <span class="quiet">–</span>;
  const { id, status, handed, candidate_id, failure } = run;
  if (status === 'queued' && !handed) return <span class="quiet">waiting</span>;
  const link = (text: string) => <a href={linkTo(['runs', id], { benchmark })}>{text}</a>;
  if (status !== 'done') {
    return (
      <>
        <StatusMark status={status} /> {link(failure?.code ?? 'run')}
        {failure !== null && <span class="quiet failed-why">{failure.message}</span>}
      </>
    );
  }
  return (
    <>
      <Right run={run} /> {link(candidate_id ?? 'none')}
      <span class="quiet cell-facts">{factsOf(run)}</span>
    </>
  );
}

function factsOf({
  confidence,
  deciding_stage: stage,
  cost_usd: cost,
  tokens,
  seconds: spentTime,
}: BenchmarkRun): string {
  const spent = tokens === null ? null : `${short(tokens)} tokens`;
  return [
    confidence === null ? null : `P ${confidence.toFixed(2)}`,
    stage === null ? null : `by ${stage}`,
    cost === null ? spent : money(cost),
    spentTime === null ? null : seconds(spentTime),
  ]
    .filter((each) => each !== null)
    .join(' · ');
}

/** A sign and a word, so that colour is never the only cue. */
function Right({ run: { right, right_candidates: some, graded } }: { readonly run: BenchmarkRun }) {
  if (right === null) return <span class="quiet">{graded === null ? 'selected' : 'selected, label unknown'}</span>;
  if (right) return <span class="outcome-right">✓ right</span>;
  return (
    <span class="outcome-wrong" title={`${some ?? 0} of ${graded ?? 0} candidates are right`}>
      ✕ wrong{(some ?? 0) > 0 && `, ${some ?? 0} right`}
    </span>
  );
}

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
                There are no benchmarks yet. Start one with <code>POST /v1/benchmarks</code>; see docs/bench.md.
              </Notice>
            )}
            {benchmarks.length > 0 && <BenchmarksTable benchmarks={benchmarks} />}
            <Pager cursor={cursor} next={next_cursor} onTurn={setCursor} />
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
