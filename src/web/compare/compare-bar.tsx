import { useState } from 'preact/hooks';
import { MOST_COMPARED } from './columns.js';

/** What is ticked, in the order of the ticks, and what a click on a tick does; of too many the last ones stay. */
export function useChosen(): readonly [readonly string[], (id: string) => void] {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const choose = (id: string): void => {
    setChosen((ids) => (ids.includes(id) ? ids.filter((each) => each !== id) : [...ids, id].slice(-MOST_COMPARED)));
  };
  return [chosen, choose];
}

interface Props {
  readonly what: 'run' | 'report';
  readonly chosen: readonly string[];
  readonly link: string;
}

/** Leads to the comparison of what is ticked. */
export function CompareBar({ what, chosen, link }: Props) {
  return (
    <p class="compare-bar" role="status">
      {chosen.length === 0 && <span class="quiet">Tick {what}s to compare them.</span>}
      {chosen.length === 1 && `One ${what} ticked; tick another to compare them.`}
      {chosen.length > 1 && (
        <a class="button primary" href={link}>
          Compare the {chosen.length} ticked {what}s
        </a>
      )}
    </p>
  );
}
