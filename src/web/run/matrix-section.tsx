import { useMemo, useRef, useState } from 'preact/hooks';
import type { EvidenceView } from '../../http/runs/evidence-view.js';
import { counted } from '../format.js';
import {
  behaviourLetters,
  CellPanel,
  faceOf,
  type Matrix,
  matrixOf,
  type MatrixRow,
  type OpenCell,
  OUTCOMES,
} from './cell-panel.js';

/** Heat map of all executions. */
export function MatrixSection({ evidence }: { readonly evidence: EvidenceView }) {
  const [open, setOpen] = useState<OpenCell | null>(null);
  const matrix = useMemo(() => matrixOf(evidence), [evidence]);
  const letters = useMemo(() => behaviourLetters(evidence.behaviours), [evidence]);
  if (matrix.rows.length === 0) {
    return (
      <section aria-labelledby="matrix-title">
        <h2 id="matrix-title">Tests × candidates</h2>
        <p class="quiet">Nothing was executed{evidence.selection === null ? ' so far' : ''}.</p>
      </section>
    );
  }
  const refused = matrix.rows.filter(({ admitted }) => admitted === false).length;
  return (
    <section aria-labelledby="matrix-title">
      <h2 id="matrix-title">Tests × candidates</h2>
      <p class="figures">
        {counted(matrix.rows.length, 'row')} × {counted(matrix.columns.length - 1, 'candidate')} and base
        {refused > 0 && ` · ${counted(refused, 'test')} rejected`}
        {letters.size > 0 && ` · ${counted(evidence.behaviours.length, 'class', 'classes')} of equal behaviour`}
        <span class="quiet"> · arrow keys move, Enter opens a cell</span>
      </p>
      <MatrixGrid
        matrix={matrix}
        letters={letters}
        selected={evidence.selection?.candidate_id ?? null}
        onOpen={setOpen}
      />
      <Legend />
      {open !== null && (
        <CellPanel
          runId={evidence.run.id}
          cell={open}
          onClose={() => {
            setOpen(null);
          }}
        />
      )}
      <Classes behaviours={evidence.behaviours} letters={letters} />
      <Refused evidence={evidence} />
    </section>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      {Object.entries(OUTCOMES).map(([outcome, { sign, word }]) => (
        <li key={outcome}>
          <span class={`cell tone-${outcome}`} aria-hidden="true">
            {sign}
          </span>{' '}
          {word}
        </li>
      ))}
      <li>
        <span class="cell tone-observed" aria-hidden="true">
          1
        </span>{' '}
        observed: equal numbers behave alike; = as base
      </li>
      <li>
        <span class="cell tone-not-solved" aria-hidden="true">
          −3
        </span>{' '}
        existing tests now failing
      </li>
      <li>
        <span class="cell tone-solved same" aria-hidden="true">
          ✓
        </span>{' '}
        run once for equal patches
      </li>
    </ul>
  );
}

/** The observed values that distinguish the classes of candidates; empty if nothing was observed. */
function Classes({ behaviours, letters }: Pick<EvidenceView, 'behaviours'> & Pick<Props, 'letters'>) {
  const told = behaviours.filter((each) => each.told.length > 0);
  if (told.length < 2) return null;
  return (
    <details class="refused">
      <summary>What distinguishes {counted(told.length, 'class', 'classes')}</summary>
      <dl class="facts">
        {told.map(({ candidate_ids: ids, told: values }) => [
          <dt key={ids[0]}>
            {letters.get(ids[0] ?? '')}: {ids.join(', ')}
          </dt>,
          <dd key={`${ids[0] ?? ''} values`}>
            <ul class="names">
              {values.map(({ test_id, value, as_base }) => (
                <li key={test_id}>
                  {test_id}
                  {as_base && ' (as base)'}: <code>{value}</code>
                </li>
              ))}
            </ul>
          </dd>,
        ])}
      </dl>
    </details>
  );
}

function Refused({ evidence: { admissions } }: { readonly evidence: EvidenceView }) {
  const refused = admissions.filter(({ admitted }) => !admitted);
  if (refused.length === 0) return null;
  return (
    <details class="refused">
      <summary>Why {counted(refused.length, 'test was', 'tests were')} rejected</summary>
      <dl class="facts">
        {refused.map(({ test_id, reason }) => [
          <dt key={test_id}>{test_id}</dt>,
          <dd key={`${test_id} reason`}>it {reason ?? 'was rejected'}</dd>,
        ])}
      </dl>
    </details>
  );
}

interface Props {
  readonly matrix: Matrix;
  readonly letters: ReadonlyMap<string, string>;
  readonly selected: string | null;
  readonly onOpen: (cell: OpenCell) => void;
}

/** A grid following the ARIA pattern: one stop of the tab key, arrow keys inside. */
function MatrixGrid({ matrix, letters, selected, onOpen }: Props) {
  const table = useRef<HTMLTableElement>(null);
  const open = (event: Event): void => {
    const [row, column] = placeIn(event.target) ?? [];
    const found = row === undefined ? undefined : matrix.rows[row];
    if (found === undefined || column === undefined) return;
    const cell = found.cells[column];
    if (cell == null) return;
    onOpen({ suite: found.suite, testId: found.testId, candidateId: matrix.columns[column] ?? null });
  };
  const press = (event: KeyboardEvent): void => {
    const place = placeIn(event.target);
    if (place === null || table.current === null) return;
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      open(event);
    } else if (moveTo(table.current, startingAt(place, event.key, matrix))) event.preventDefault();
  };
  return (
    <div class="scroll matrix-scroll">
      <table ref={table} class="matrix" role="grid" aria-label="Tests and candidates" onClick={open} onKeyDown={press}>
        <thead>
          <tr>
            <th scope="col" class="corner">
              Test
            </th>
            {matrix.columns.map((id) => (
              <th
                key={id}
                scope="col"
                class={id !== null && id === selected ? 'selected' : undefined}
                title={id ?? 'without any patch'}
              >
                <span class="turned">{id ?? 'base'}</span>
                <span class="letter">{id === null ? '' : (letters.get(id) ?? '')}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {matrix.rows.map((row, index) => (
            <Row key={`${row.suite} ${row.testId}`} row={row} index={index} columns={matrix.columns} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly row: MatrixRow;
  readonly index: number;
  readonly columns: Matrix['columns'];
}

function Row({ row, index, columns }: RowProps) {
  const { testId, suite, admitted, cells } = row;
  const kind = admitted === false ? 'refused' : suite;
  return (
    <tr class={`row-${kind}`}>
      <th scope="row" title={titleOf(row)}>
        <span class="test-name">{suite === 'regression' ? 'existing tests' : testId}</span>
        <span class="quiet test-note">{noteOf(row)}</span>
      </th>
      {cells.map((cell, column) => {
        const { sign, word, tone } = faceOf(cell);
        const label = `${testId} on ${columns[column] ?? 'base'}: ${word}`;
        return (
          <td
            key={columns[column]}
            role="gridcell"
            class={`cell tone-${tone}${(cell?.same_as ?? null) === null ? '' : ' same'}`}
            tabIndex={index === 0 && column === 0 ? 0 : -1}
            data-place={`${index} ${column}`}
            aria-label={label}
            title={label}
          >
            {sign}
          </td>
        );
      })}
    </tr>
  );
}

function noteOf({ admitted, quality }: MatrixRow): string {
  if (admitted === false) return '✕ rejected';
  if (quality === null) return '';
  return quality.information === 0 ? 'distinguishes none' : `${quality.information.toFixed(2)} bit`;
}

function titleOf({ testId, admitted, reason, quality }: MatrixRow): string {
  if (admitted === false) return `${testId} was rejected: it ${reason ?? 'was rejected'}`;
  if (quality === null) return testId;
  return `${testId}: solved by ${quality.solved_by} of ${quality.of} patches, P(toxic) ${quality.toxicity.toFixed(2)}`;
}

/** Row and column, both from 0. */
type Place = readonly [number, number];

interface Size {
  readonly rows: readonly unknown[];
  readonly columns: readonly unknown[];
}

/** The cell of an event; null = outside any cell. */
function placeIn(target: EventTarget | null): Place | null {
  const place = target instanceof Element ? target.closest<HTMLElement>('[data-place]')?.dataset.place : undefined;
  if (place === undefined) return null;
  const [row = 0, column = 0] = place.split(' ').map(Number);
  return [row, column];
}

/** The cell that a key moves to; null = the key does not move. */
function startingAt([row, column]: Place, key: string, { rows, columns }: Size): Place | null {
  const steps: Readonly<Record<string, Place>> = {
    ArrowUp: [row - 1, column],
    ArrowDown: [row + 1, column],
    ArrowLeft: [row, column - 1],
    ArrowRight: [row, column + 1],
    Home: [row, 0],
    End: [row, columns.length - 1],
    PageUp: [0, column],
    PageDown: [rows.length - 1, column],
  };
  const next = steps[key];
  if (next === undefined) return null;
  const within = (value: number, size: number): number => Math.max(0, Math.min(size - 1, value));
  return [within(next[0], rows.length), within(next[1], columns.length)];
}

/**
 * Focuses the cell and makes it the grid's only tab stop.
 * @returns whether focus moved
 */
function moveTo(table: HTMLElement, place: Place | null): boolean {
  if (place === null) return false;
  const next = table.querySelector<HTMLElement>(`[data-place="${place.join(' ')}"]`);
  if (next === null) return false;
  for (const stop of table.querySelectorAll<HTMLElement>('[data-place][tabindex="0"]')) stop.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
  return true;
}
