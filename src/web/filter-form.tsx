import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';

interface Choice {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  /** Values as used in the address, optionally with a different label. */
  readonly options: readonly (string | readonly [string, string])[];
  /** Label for no choice; absent = any. */
  readonly none?: string;
}

interface Props {
  readonly label: string;
  /** The current search text. */
  readonly q: string;
  readonly placeholder?: string;
  readonly choices: readonly Choice[];
  /**
   * @param name `q`, or the name of a choice
   * @param to the new value; null = remove the filter
   */
  readonly onChange: (name: string, to: string | null) => void;
  readonly children?: ComponentChildren;
}

const TYPING_MS = 200;

/** The address without its query. */
function pageNow(): string | undefined {
  return window.location.hash.split('?')[0];
}

/** A search field and choices; typed text is reported when typing pauses. */
export function FilterForm({ label, q, placeholder, choices, onChange, children }: Props) {
  const [typed, setTyped] = useState(q);
  useEffect(() => {
    if (typed === q) return undefined;
    const here = pageNow();
    const timer = setTimeout(() => {
      // Skipped if the reader has followed a link meanwhile and this form is about to be removed.
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
