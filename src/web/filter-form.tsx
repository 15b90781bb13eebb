import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface Choice {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  /** Each as it stands in the address, or with other words for it. */
  readonly options: readonly (string | readonly [string, string])[];
  /** In place of a choice; absent = any. */
  readonly none?: string;
}

interface Props {
  readonly label: string;
  /** What is looked for now. */
  readonly q: string;
  readonly placeholder?: string;
  readonly choices: readonly Choice[];
  /** @param name `q`, or of a choice @param to null = take it away */
  readonly onChange: (name: string, to: string | null) => void;
  readonly children?: ComponentChildren;
}

const TYPING_MS = 200;

/** The address without what is filtered by. */
function pageNow(): string | undefined {
  return window.location.hash.split('?')[0];
}

/** A search field and choices; what is typed is told when the typing pauses. */
export function FilterForm({ label, q, placeholder, choices, onChange, children }: Props) {
  const [typed, setTyped] = useState(q);
  useEffect(() => {
    if (typed === q) return undefined;
    const here = pageNow();
    const timer = setTimeout(() => {
      // The reader may have followed a link meanwhile, and this form is about to go.
      if (pageNow() === here) onChange('q', typed === '' ? null : typed);
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [typed]);
  return (
    <form
      class="filter"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      <label>
        {label}{' '}
        <input
          type="search"
          value={typed}
          placeholder={placeholder}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
          }}
        />
      </label>
      {choices.map((choice) => (
        <label key={choice.name}>
          {choice.label}{' '}
          <select
            value={choice.value}
            onChange={(event) => {
              const { value } = event.currentTarget;
              onChange(choice.name, value === '' ? null : value);
            }}
          >
            <option value="">{choice.none ?? 'any'}</option>
            {choice.options.map((option) => {
              const [value, text] = typeof option === 'string' ? [option, option] : option;
              return (
                <option key={value} value={value}>
                  {text}
                </option>
              );
            })}
          </select>
        </label>
      ))}
      {children}
    </form>
  );
}
