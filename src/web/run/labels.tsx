import type { LabelsView } from '../../http/runs/evidence-view.js';
import { counted } from '../format.js';

export type Label = LabelsView['labels'][number];
/** By candidate; empty while nothing is known. */
export type Labels = ReadonlyMap<string, Label>;

export function labelsOf(view: LabelsView | null): Labels {
  return new Map(view?.labels.map((label) => [label.candidate_id, label]));
}

/** A sign and a word, never colour alone. */
export function LabelMark({ label }: { readonly label: Label | undefined }) {
  if (label === undefined) return <span class="quiet">–</span>;
  const { right, reason } = label;
  if (right === null) {
    return (
      <span class="quiet" title={reason}>
        not graded
      </span>
    );
  }
  return (
    <span class={right ? 'outcome-right' : 'outcome-wrong'} title={reason}>
      {right ? '✓ right' : '✕ wrong'}
    </span>
  );
}

/** What was selected, beside what could have been. */
export function LabelOfSelected({ selected, labels }: { readonly selected: string | null; readonly labels: Labels }) {
  const right = [...labels.values()].filter((label) => label.right === true).length;
  return (
    <>
      {selected !== null && <LabelMark label={labels.get(selected)} />}{' '}
      <span class="quiet">
        {right} of {counted(labels.size, 'candidate')} right
      </span>
    </>
  );
}

/** Why a candidate is right or wrong, in the words of its grade. */
export function LabelInWords({ label }: { readonly label: Label | undefined }) {
  if (label === undefined) return null;
  return (
    <div class="label-in-words">
      <LabelMark label={label} /> {label.reason}
      {label.failed_tests.length > 0 && (
        <details>
          <summary>{counted(label.failed_tests.length, 'required test')} that did not pass</summary>
          <ul>
            {label.failed_tests.map((test) => (
              <li key={test}>
                <code>{test}</code>
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}
