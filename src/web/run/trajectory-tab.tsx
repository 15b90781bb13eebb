import { useEffect, useRef, useState } from 'preact/hooks';
import type { CandidateEvidence } from '../../http/runs/evidence-view.js';
import type { StepsView, StepView } from '../../http/runs/step-views.js';
import { queryOf, runPath } from '../api.js';
import { count, seconds, short } from '../format.js';
import { Awaited, Notice, Problem, useAnswer } from '../notice.js';
import { editOf, gistOf } from './file-diff.js';
import { leakSteps, StepSearch } from './step-search.js';

/** Steps shown at once; longer trajectories are paged. */
const WINDOW = 50;

interface Props {
  readonly runId: string;
  readonly candidate: CandidateEvidence;
  /** Index, from 0, of a step on the page to show. */
  readonly first: number;
  readonly onMove: (first: number) => void;
}

export function TrajectoryTab({ runId, candidate, first, onMove }: Props) {
  const { candidate_id: id, steps: total, exit_reason } = candidate;
  const from = startOf(first, total);
  const [aim, setAim] = useState<Aim>({ step: null, round: 0 });
  const [folding, setFolding] = useState<Folding>({ isFolded: false, round: 0 });
  const path = runPath(runId, 'candidates', id, 'steps');
  const answer = useAnswer<StepsView>(total === 0 ? null : `${path}${queryOf({ from, limit: WINDOW })}`);
  if (total === 0) return <Notice>This candidate has no trajectory, or it is not stored yet.</Notice>;
  const aimAt = (step: number | null): void => {
    setAim(({ round }) => ({ step, round: round + 1 }));
  };
  const page = (to: number): void => {
    onMove(to);
    aimAt(null);
  };
  const moves = total > WINDOW && <StepPager from={from} total={total} onMove={page} />;
  const go = (step: number): void => {
    onMove(step);
    // Takes effect at once if the step is on this page, otherwise when its page is loaded.
    aimAt(step);
  };
  return (
    <>
      <StepSearch path={path} name={id} total={total} flags={candidate.flags} onMove={go} />
      {moves}
      <Awaited answer={answer} what="steps">
        {({ steps }) => (
          <>
            <button
              type="button"
              onClick={() => {
                setFolding(({ isFolded, round }) => ({ isFolded: !isFolded, round: round + 1 }));
              }}
            >
              {folding.isFolded ? 'Unfold all steps' : 'Fold all steps'}
            </button>
            <ol class="steps" start={from + 1}>
              {steps.map((step) => (
                <StepItem
                  key={step.number}
                  step={step}
                  {...{ path, folding }}
                  aimed={step.number === aim.step ? aim.round : null}
                  flags={candidate.flags.filter((flag) => leakSteps([flag])[0] === step.number)}
                />
              ))}
            </ol>
            {moves}
          </>
        )}
      </Awaited>
      {from + WINDOW >= total && exit_reason !== null && (
        <p class="quiet">{exit_reason === 'agent' ? 'Submitted by the agent.' : `Exit reason: ${exit_reason}.`}</p>
      )}
    </>
  );
}

/** Index of the first step on the page that contains step `asked`. */
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

/** Lines of a text shown while it is collapsed. */
const FOLDED_LINES = { thought: 24, action: 24, observation: 6 } as const;
const EVERYTHING = 10_000_000;

type Part = 'thought' | 'action' | 'observation';

/** The last "fold all" or "unfold all"; steps may have been toggled individually since. */
interface Folding {
  readonly isFolded: boolean;
  readonly round: number;
}

/** The step that the reader jumped to last, and how many jumps there were. */
interface Aim {
  readonly step: number | null;
  readonly round: number;
}

interface StepProps {
  readonly folding: Folding;
  readonly step: StepView;
  /** API path of the trajectory's steps. */
  readonly path: string;
  /** Changes with each jump to this step; null if the last one went elsewhere. */
  readonly aimed: number | null;
  /** Flags that name this step. */
  readonly flags: readonly string[];
}

function StepItem({ step, path, folding, aimed, flags }: StepProps) {
  const item = useRef<HTMLLIElement>(null);
  const [isOpen, setIsOpen] = useState(!folding.isFolded);
  useEffect(() => {
    if (folding.round > 0) setIsOpen(!folding.isFolded);
  }, [folding]);
  // Runs after the folding effect, so that a step jumped to is open.
  useEffect(() => {
    if (aimed === null) return;
    setIsOpen(true);
    item.current?.scrollIntoView({ block: 'start' });
  }, [aimed]);
  const [asksWhole, setAsksWhole] = useState(false);
  const query = queryOf({ from: step.number, limit: 1, characters: EVERYTHING });
  const whole = useAnswer<StepsView>(asksWhole ? `${path}${query}` : null);
  const shown = whole.data?.steps[0] ?? step;
  const cut = shown.thought.cut + shown.action.cut + shown.observation.cut;
  return (
    <li ref={item} class={aimed === null ? 'step' : 'step aimed'}>
      <details
        open={isOpen}
        onToggle={(event) => {
          setIsOpen(event.currentTarget.open);
        }}
      >
        <StepHead {...{ step, flags, isOpen }} />
        <Text part="thought" text={shown.thought.text} />
        <Text part="action" text={shown.action.text} />
        <Text part="observation" text={shown.observation.text} />
        {whole.problem !== null && <Problem problem={whole.problem} retry={whole.reload} />}
        {cut > 0 && (
          <button
            type="button"
            onClick={() => {
              setAsksWhole(true);
            }}
          >
            Show {count(cut)} omitted characters
          </button>
        )}
      </details>
    </li>
  );
}

interface HeadProps extends Pick<StepProps, 'step' | 'flags'> {
  readonly isOpen: boolean;
}

/** Header of a step, also shown while it is collapsed. */
function StepHead({ step, flags, isOpen }: HeadProps) {
  const edit = editOf(step.action.text);
  return (
    <summary class="step-head">
      <strong>Step {step.number + 1}</strong> <span class="quiet">{factsOf(step)}</span>
      {edit !== null && <span class="tag">{edit}</span>}
      {step.exit_code !== null && step.exit_code !== 0 && <span class="tag tag-warn">exit {step.exit_code}</span>}
      {flags.map((flag) => (
        <span key={flag} class="tag tag-warn">
          <span aria-hidden="true">⚠ </span>
          {flag}
        </span>
      ))}
      {!isOpen && <code class="gist">{gistOf(step.action.text)}</code>}
    </summary>
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
  const most = FOLDED_LINES[part];
  const folds = isFolded && lines.length > most + 4;
  return (
    <div class={`part part-${part}`}>
      <span class="part-name">{part}</span>
      <pre class="text">{folds ? lines.slice(0, most).join('\n') : text}</pre>
      {folds && (
        <button
          type="button"
          class="link"
          onClick={() => {
            setIsFolded(false);
          }}
        >
          {count(lines.length - most)} more lines
        </button>
      )}
    </div>
  );
}
