import { useEffect, useState } from 'preact/hooks';
import type { StepsView, StepView } from '../../http/runs/step-views.js';
import { getJson, queryOf } from '../api.js';
import { counted } from '../format.js';
import { type Edit, editOf } from './file-diff.js';

/** Steps per request, and characters read of each text. */
const PAGE = 500;
const CHARACTERS = 4_000;
/** Most matches listed; a search with more should be narrowed. */
const MOST = 200;

interface Props {
  /** API path of the trajectory's steps. */
  readonly path: string;
  /** Name of the candidate. */
  readonly name: string;
  readonly total: number;
  readonly flags: readonly string[];
  readonly onMove: (step: number) => void;
}

/** Finds steps in a long trajectory: by words, edits, or attempts to look up the answer. */
export function StepSearch({ path, name, total, flags, onMove }: Props) {
  const [asked, setAsked] = useState('');
  const [found, setFound] = useState<readonly Place[] | null>(null);
  useEffect(() => {
    if (asked === '') return undefined;
    const gone = new AbortController();
    setFound(null);
    placesIn(path, total, asked === EDITS ? edits : holding(asked), gone.signal).then(setFound, () => undefined);
    return () => {
      gone.abort();
    };
  }, [asked, path, total]);
  const leaks = leakSteps(flags);
  return (
    <form
      class="filter"
      role="search"
      aria-label={`Steps of ${name}`}
      onSubmit={(event) => {
        event.preventDefault();
        setAsked(new FormData(event.currentTarget).get('words') as string);
      }}
    >
      <input type="search" name="words" aria-label="Words in steps" placeholder="words in steps" />
      <button type="submit">Find</button>
      <button
        type="button"
        onClick={() => {
          setAsked(EDITS);
        }}
      >
        Edits
      </button>
      {leaks.map((step) => (
        <Jump key={`leak ${step}`} step={step} text={`⚠ leak: step ${step + 1}`} onMove={onMove} />
      ))}
      {asked !== '' && <Found found={found} onMove={onMove} />}
    </form>
  );
}

function Found({ found, onMove }: { readonly found: readonly Place[] | null; readonly onMove: Props['onMove'] }) {
  if (found === null) return <span role="status">Searching …</span>;
  if (found.length === 0) return <span role="status">No steps found.</span>;
  const shown = found.slice(0, MOST);
  const jumps = (kind: Edit | null) =>
    shown
      .filter((each) => each.kind === kind)
      .map(({ step }) => <Jump key={step} step={step} text={String(step + 1)} onMove={onMove} />);
  const commands = jumps('possible edit');
  return (
    <span class="places" role="status">
      {counted(found.length, 'step')}
      {found.length > MOST && `, the first ${MOST}`}: {jumps(null)}
      {jumps('edit')}
      {commands.length > 0 && <> possible edits: {commands}</>}
    </span>
  );
}

interface JumpProps extends Pick<Props, 'onMove'> {
  readonly step: number;
  readonly text: string;
}

function Jump({ step, text, onMove }: JumpProps) {
  return (
    <button
      type="button"
      class="link"
      onClick={() => {
        onMove(step);
      }}
    >
      {text}
    </button>
  );
}

/** A matching step. */
interface Place {
  readonly step: number;
  /** Null in a search for words. */
  readonly kind: Edit | null;
}

/** Null for a step that does not match. */
type Fits = (step: StepView) => Place | null;

/** Cannot collide with words typed by the reader. */
const EDITS = '\0edits';

function holding(words: string): Fits {
  const letters = words.toLowerCase();
  return ({ number: step, thought, action, observation }) => {
    const isHeld = [thought, action, observation].some(({ text }) => text.toLowerCase().includes(letters));
    return isHeld ? { step, kind: null } : null;
  };
}

function edits({ number: step, action }: StepView): Place | null {
  const kind = editOf(action.text);
  return kind === null ? null : { step, kind };
}

async function placesIn(path: string, total: number, fits: Fits, signal: AbortSignal): Promise<readonly Place[]> {
  const found: Place[] = [];
  for (let from = 0; from < total; from += PAGE) {
    const page = (await getJson(
      `${path}${queryOf({ from, limit: PAGE, characters: CHARACTERS })}`,
      signal,
    )) as StepsView;
    found.push(...page.steps.flatMap((step) => fits(step) ?? []));
  }
  return found;
}

/** Indices, from 0, of steps named by flags like `leak:git-history:step-4`. */
export function leakSteps(flags: readonly string[]): readonly number[] {
  return flags.flatMap((flag) => {
    const step = /^leak:.*:step-(\d+)/.exec(flag)?.[1];
    return step === undefined ? [] : [Number(step) - 1];
  });
}
