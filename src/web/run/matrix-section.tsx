import { useMemo, useState } from 'preact/hooks';
import type { EvidenceView } from '../../http/runs/evidence-view.js';
import { counted } from '../format.js';
import { CellPanel, type OpenCell } from './cell-panel.js';
import { MatrixGrid } from './matrix-grid.js';
import { behaviourLetters, matrixOf, OUTCOMES } from './matrix-model.js';

/** The heat map of everything that was executed. */
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
        {refused > 0 && ` · ${counted(refused, 'test')} refused`}
        {letters.size > 0 && ` · ${counted(evidence.behaviours.length, 'class', 'classes')} of equal outcomes`}
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
      <Refused evidence={evidence} />
    </section>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Signs">
      {Object.entries(OUTCOMES).map(([outcome, { sign, word }]) => (
        <li key={outcome}>
          <span class={`cell tone-${outcome}`} aria-hidden="true">
            {sign}
          </span>{' '}
          {word}
        </li>
      ))}
      <li>
        <span class="cell tone-not-solved" aria-hidden="true">
          −3
        </span>{' '}
        existing tests lost
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

function Refused({ evidence: { admissions } }: { readonly evidence: EvidenceView }) {
  const refused = admissions.filter(({ admitted }) => !admitted);
  if (refused.length === 0) return null;
  return (
    <details class="refused">
      <summary>Why {counted(refused.length, 'test was', 'tests were')} refused</summary>
      <dl class="facts">
        {refused.map(({ test_id, reason }) => [
          <dt key={test_id}>{test_id}</dt>,
          <dd key={`${test_id} reason`}>it {reason ?? 'was refused'}</dd>,
        ])}
      </dl>
    </details>
  );
}
