import { useState } from 'preact/hooks';
import type { CandidateEvidence } from '../../http/runs/evidence-view.js';
import type { StepsView, StepView } from '../../http/runs/step-views.js';
import { getJson, queryOf, runPath } from '../api.js';
import { count, seconds, short } from '../format.js';
import { Awaited, Notice } from '../notice.js';
import { useAnswer } from '../use-answer.js';

/** Steps on the page at once; a longer trajectory is read page by page. */
const WINDOW = 50;

interface Props {
  readonly runId: string;
  readonly candidate: CandidateEvidence;
  /** Number of a step on the page to show, from 0. */
  readonly first: number;
  readonly onMove: (first: number) => void;
}

export function TrajectoryTab({ runId, candidate, first, onMove }: Props) {
  const { candidate_id: id, steps: total, exit_reason } = candidate;
  const from = startOf(first, total);
  const path = runPath(runId, 'candidates', id, 'steps');
  const answer = useAnswer<StepsView>(total === 0 ? null : `${path}${queryOf({ from, limit: WINDOW })}`);
  if (total === 0) return <Notice>No trajectory came with this candidate, or it is not there yet.</Notice>;
  const moves = total > WINDOW && <StepPager from={from} total={total} onMove={onMove} />;
  return (
    <>
      {moves}
      <Awaited answer={answer} what="steps">
        {({ steps }) => (
          <>
            <ol class="steps" start={from + 1}>
              {steps.map((step) => (
                <StepItem key={step.number} step={step} path={path} />
              ))}
            </ol>
            {moves}
          </>
        )}
      </Awaited>
      {from + WINDOW >= total && exit_reason !== null && <p class="quiet">It ended by {exit_reason}.</p>}
    </>
  );
}

/** Where the page with step `asked` begins. */
function startOf(asked: number, total: number): number {
  const within = Number.isInteger(asked) ? Math.max(0, Math.min(asked, total - 1)) : 0;
  return Math.floor(within / WINDOW) * WINDOW;
}

interface PagerProps {
  readonly from: number;
  readonly total: number;
  readonly onMove: (first: number) => void;
}

function StepPager({ from, total, onMove }: PagerProps) {
  const last = Math.floor((total - 1) / WINDOW) * WINDOW;
  const button = (text: string, to: number, isOff: boolean) => (
    <button
      type="button"
      disabled={isOff}
      onClick={() => {
        onMove(to);
      }}
    >
      {text}
    </button>
  );
  return (
    <div class="actions" role="group" aria-label="Steps">
      {button('First', 0, from === 0)}
      {button('Previous', from - WINDOW, from === 0)}
      <label>
        Step{' '}
        <input
          type="number"
          min={1}
          max={total}
          value={from + 1}
          onChange={(event) => {
            onMove(Math.max(0, event.currentTarget.valueAsNumber - 1));
          }}
        />
      </label>
      <span>
        to {count(Math.min(from + WINDOW, total))} of {count(total)}
      </span>
      {button('Next', from + WINDOW, from >= last)}
      {button('Last', last, from >= last)}
    </div>
  );
}

/** Lines of a text that stand there at once; the rest unfolds. */
const FOLDED_LINES = 24;
const EVERYTHING = 10_000_000;

type Part = 'thought' | 'action' | 'observation';

interface StepProps {
  readonly step: StepView;
  /** Of the steps of this trajectory. */
  readonly path: string;
}

export function StepItem({ step, path }: StepProps) {
  const [whole, setWhole] = useState<StepView | null>(null);
  const shown = whole ?? step;
  const cut = shown.thought.cut + shown.action.cut + shown.observation.cut;
  const readWhole = async (): Promise<void> => {
    const query = queryOf({ from: step.number, limit: 1, characters: EVERYTHING });
    const { steps } = (await getJson(`${path}${query}`)) as StepsView;
    setWhole(steps[0] ?? null);
  };
  return (
    <li class="step">
      <p class="step-head">
        <strong>Step {step.number + 1}</strong> <span class="quiet">{factsOf(step)}</span>
        {step.exit_code !== null && step.exit_code !== 0 && <span class="tag tag-warn">exit {step.exit_code}</span>}
      </p>
      <Text part="thought" text={shown.thought.text} />
      <Text part="action" text={shown.action.text} />
      <Text part="observation" text={shown.observation.text} />
      {cut > 0 && (
        <button type="button" onClick={() => void readWhole()}>
          {count(cut)} characters are left out; show them
        </button>
      )}
    </li>
  );
}

function factsOf({ input_tokens, cached_input_tokens, output_tokens, llm_s, env_s }: StepView): string {
  const parts = [
    input_tokens !== null && `${short(input_tokens)} in`,
    cached_input_tokens !== null && cached_input_tokens > 0 && `${short(cached_input_tokens)} cached`,
    output_tokens !== null && `${short(output_tokens)} out`,
    llm_s !== null && `model ${seconds(llm_s)}`,
    env_s !== null && `action ${seconds(env_s)}`,
  ];
  return parts.filter(Boolean).join(' · ');
}

function Text({ part, text }: { readonly part: Part; readonly text: string }) {
  const [isFolded, setIsFolded] = useState(true);
  if (text.trim() === '') return null;
  const lines = text.split('\n');
  const folds = isFolded && lines.length > FOLDED_LINES + 4;
  return (
    <div class={`part part-${part}`}>
      <span class="part-name">{part}</span>
      <pre class="text">{folds ? lines.slice(0, FOLDED_LINES).join('\n') : text}</pre>
      {folds && (
        <button
          type="button"
          class="link"
          onClick={() => {
            setIsFolded(false);
          }}
        >
          {count(lines.length - FOLDED_LINES)} more lines
        </button>
      )}
    </div>
  );
}
