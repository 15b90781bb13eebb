import { useCallback, useState } from 'preact/hooks';
import type { StepsView } from '../../http/runs/step-views.js';
import { getJson, queryOf } from '../api.js';
import { counted } from '../format.js';
import { type Answer, Problem, useAnswer } from '../notice.js';
import { type Edit, editOf } from './file-diff.js';

/** Steps per request: as many as the service gives, as it reads the whole run for each. */
const PAGE = 500;
/** Read of each text: as many as the page shows of it at first. */
const CHARACTERS = 20_000;
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
  const search = useCallback(
    (words: string, signal: AbortSignal) => placesIn(path, total, words === EDITS ? edits : holding(words), signal),
    [path, total],
  );
  const answer = useAnswer(asked === '' ? null : asked, search);
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
      {asked !== '' && <Found answer={answer} onMove={onMove} />}
    </form>
  );
}

function Found({ answer, onMove }: { readonly answer: Answer<Search>; readonly onMove: Props['onMove'] }) {
  const { data, problem, reload } = answer;
  if (problem !== null) return <Problem problem={problem} retry={reload} />;
  if (data === null) return <span role="status">Searching …</span>;
  const { places: found, partly } = data;
  const rest = partly > 0 && ` ${counted(partly, 'step was', 'steps were')} searched only in part.`;
  if (found.length === 0) return <span role="status">No steps found.{rest}</span>;
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
      {rest !== false && `.${rest}`}
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

interface Search {
  readonly places: readonly Place[];
  /** How many other steps have texts that were not read to their end. */
  readonly partly: number;
}

interface Kind {
  readonly parts: readonly ('thought' | 'action' | 'observation')[];
  /** Null for a text that does not match. */
  readonly fits: (text: string) => Pick<Place, 'kind'> | null;
}

/** Cannot collide with words typed by the reader. */
const EDITS = '\0edits';

const edits: Kind = {
  parts: ['action'],
  fits: (text) => {
    const kind = editOf(text);
    return kind === null ? null : { kind };
  },
};

function holding(words: string): Kind {
  const letters = words.toLowerCase();
  return {
    parts: ['thought', 'action', 'observation'],
    fits: (text) => (text.toLowerCase().includes(letters) ? { kind: null } : null),
  };
}

async function placesIn(path: string, total: number, { parts, fits }: Kind, signal: AbortSignal): Promise<Search> {
  const places: Place[] = [];
  let partly = 0;
  for (let from = 0; from < total; from += PAGE) {
    const query = queryOf({ from, limit: PAGE, characters: CHARACTERS });
    const { steps } = (await getJson(`${path}${query}`, signal)) as StepsView;
    for (const step of steps) {
      const texts = parts.map((part) => step[part]);
      const [found] = texts.flatMap(({ text }) => fits(text) ?? []);
      if (found !== undefined) places.push({ step: step.number, ...found });
      else if (texts.some(({ cut }) => cut > 0)) partly += 1;
    }
  }
  return { places, partly };
}

/** Indices, from 0, of steps named by flags like `leak:git-history:step-4`. */
export function leakSteps(flags: readonly string[]): readonly number[] {
  return flags.flatMap((flag) => {
    const step = /^leak:.*:step-(\d+)/.exec(flag)?.[1];
    return step === undefined ? [] : [Number(step) - 1];
  });
}
