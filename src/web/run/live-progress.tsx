import { useEffect, useState } from 'preact/hooks';
import type { EvidenceView, LabelsView } from '../../http/runs/evidence-view.js';
import { counted, seconds } from '../format.js';
import type { Live, LiveCalls, LiveStep, LiveTry } from './live-run.js';

/** Progress of a running run. */
export function LiveProgress({ live, k }: { readonly live: Live; readonly k: number }) {
  const { tries, calls, cells, verdicts } = live;
  const now = useNow();
  const ended = [...tries.values()].filter((each) => each.ended !== null).length;
  const scored = new Set(verdicts.map(({ candidate_id }) => candidate_id)).size;
  return (
    <section class="live panel" aria-labelledby="live-title">
      <h2 id="live-title">In progress</h2>
      <p role="status">
        {tries.size > 0 && `${ended} of ${counted(k, 'rollout')} ended · `}
        {counted(cells.length, 'test outcome')} · {scored} of {k} candidates with a verdict
      </p>
      {calls.length > 0 && <Calls calls={calls} now={now} />}
      {tries.size > 0 && <Tries tries={tries} now={now} />}
      <details>
        <summary>Latest events</summary>
        <ol class="events">
          {live.recent.toReversed().map(({ seq, at, type, data }) => (
            <li key={seq}>
              <time>{at.slice(11, 19)}</time> <strong>{type}</strong> <code>{JSON.stringify(data).slice(0, 240)}</code>
            </li>
          ))}
        </ol>
      </details>
    </section>
  );
}

const ASKED_BY: Readonly<Record<string, string>> = {
  judge: 'Judge',
  'agent-judge': 'Judge with tools',
  'test-writer': 'Test writer',
};

/** Model calls that judges and test writers are waiting for. */
function Calls({ calls, now }: { readonly calls: readonly LiveCalls[]; readonly now: number }) {
  return (
    <ul class="calls" aria-label="Model calls in progress">
      {calls.map(({ purpose, model, calls: open, since }) => (
        <li key={`${purpose} ${model}`}>
          <strong>{ASKED_BY[purpose] ?? purpose}</strong> <code>{model}</code>{' '}
          {`${counted(open, 'call')} in progress, ${open === 1 ? '' : 'the oldest '}for ${seconds(Math.max(0, now - Date.parse(since)) / 1_000)}`}
        </li>
      ))}
    </ul>
  );
}

/** Each rollout with its steps as they arrive; running ones first. */
function Tries({ tries, now }: { readonly tries: ReadonlyMap<string, LiveTry>; readonly now: number }) {
  const inOrder = [...tries.entries()].sort(([, a], [, b]) => Number(a.ended !== null) - Number(b.ended !== null));
  return (
    <ul class="tries">
      {inOrder.map(([id, live]) => (
        <li key={id}>
          <details>
            <summary>
              <code>{id}</code> {counted(live.steps, 'step')} <Now live={live} now={now} />
            </summary>
            <ol class="live-steps">
              {live.log.toReversed().map((step) => (
                <Step key={step.step} step={step} />
              ))}
            </ol>
          </details>
        </li>
      ))}
    </ul>
  );
}

/** How the rollout ended, or its last step: after a step, the model is being asked for the next one. */
function Now({ live: { ended, log }, now }: { readonly live: LiveTry; readonly now: number }) {
  const last = log.at(-1);
  if (ended !== null) {
    return (
      <span>
        ended by {ended.reason}, {counted(ended.patchLines, 'line')}
      </span>
    );
  }
  if (last === undefined) return null;
  const waiting = Math.max(0, (now - Date.parse(last.at)) / 1_000);
  return (
    <span class="quiet">
      {last.tool} <code>{last.gist}</code> · waiting for the next step for {seconds(waiting)}
    </span>
  );
}

function Step({ step: { step, tool, gist, exit_code, llm_s, env_s } }: { readonly step: LiveStep }) {
  const took = [
    ...(llm_s === undefined ? [] : [`model ${seconds(llm_s)}`]),
    ...(env_s === undefined ? [] : [`action ${seconds(env_s)}`]),
  ];
  return (
    <li value={step}>
      {tool ?? 'no call'} <code>{gist}</code>{' '}
      {exit_code != null && exit_code !== 0 && <span class="tag tag-warn">exit {exit_code}</span>}{' '}
      <span class="quiet">{took.join(' · ')}</span>
    </li>
  );
}

const TICK_MS = 1_000;

function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      setNow(Date.now());
    }, TICK_MS);
    return () => {
      clearInterval(timer);
    };
  }, []);
  return now;
}

export type Label = LabelsView['labels'][number];
/** By candidate; empty while no labels are known. */
export type Labels = ReadonlyMap<string, Label>;

export function labelsOf(view: LabelsView | null): Labels {
  return new Map(view?.labels.map((label) => [label.candidate_id, label]));
}

const FIRST_LOOK_MS = 2_000;
/** Takes a little more than two hours; most runs are never graded. */
const MOST_LOOKS = 12;

/** Milliseconds until the grades of a run are requested again; null if there can be none or enough was asked. */
export function waitForGrades(
  status: EvidenceView['run']['status'] | undefined,
  view: LabelsView | null,
  looks: number,
): number | null {
  if (status !== 'done' || view?.graded === true || looks >= MOST_LOOKS) return null;
  return FIRST_LOOK_MS * 2 ** looks;
}

/** A sign and a word, so that colour is never the only cue. */
export function LabelMark({ label }: { readonly label: Label | undefined }) {
  if (label === undefined) return <span class="quiet">–</span>;
  const { right, reason } = label;
  if (right === null) {
    return (
      <span class="quiet" title={reason}>
        unknown
      </span>
    );
  }
  return (
    <span class={right ? 'outcome-right' : 'outcome-wrong'} title={reason}>
      {right ? '✓ right' : '✕ wrong'}
    </span>
  );
}

/** The selected candidate's label, and how many candidates are right. */
export function LabelOfSelected({ selected, labels }: { readonly selected: string | null; readonly labels: Labels }) {
  const known = [...labels.values()].filter((label) => label.right !== null);
  const right = known.filter((label) => label.right === true).length;
  const unknown = labels.size - known.length;
  return (
    <>
      {selected !== null && <LabelMark label={labels.get(selected)} />}{' '}
      <span class="quiet">
        {right} of {counted(known.length, 'candidate')} right{unknown > 0 && `, ${unknown} unknown`}
      </span>
    </>
  );
}

/** Why a candidate is right or wrong, or why that is unknown, as stated in its grade. */
export function LabelInWords({ label }: { readonly label: Label | undefined }) {
  if (label === undefined) return null;
  return (
    <div class="label-in-words">
      <LabelMark label={label} /> {label.reason}
      {label.failed_tests.length > 0 && (
        <details>
          <summary>{counted(label.failed_tests.length, 'required test')} not passed</summary>
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
