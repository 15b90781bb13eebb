import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiProblem, currentKey, getJson, keepKey, problemOf } from './api.js';

/** A message for the reader; screen readers announce a `problem` immediately. */
export function Notice({ kind = 'note', children }: { kind?: 'note' | 'problem'; children: ComponentChildren }) {
  return (
    <div class={`notice notice-${kind}`} role={kind === 'problem' ? 'alert' : 'note'}>
      {children}
    </div>
  );
}

export function Problem({ problem, retry }: { problem: ApiProblem; retry?: () => void }) {
  return (
    <Notice kind="problem">
      <strong>{problem.message}</strong> {problem.next}{' '}
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </Notice>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p class="loading" role="status">
      Loading {what} …
    </p>
  );
}

interface AwaitedProps<T> {
  readonly answer: Answer<T>;
  /** Description of what is being loaded. */
  readonly what: string;
  readonly children: (data: T) => ComponentChildren;
}

/**
 * Renders an answer once loaded; until then a loading message or the problem. Earlier data stays visible next to a problem.
 */
export function Awaited<T>({ answer: { data, problem, reload }, what, children }: AwaitedProps<T>) {
  return (
    <>
      {problem !== null && <Problem problem={problem} retry={reload} />}
      {data === null && problem === null && <Loading what={what} />}
      {data !== null && children(data)}
    </>
  );
}

interface PagerProps {
  /** Of the page shown; null = the first. */
  readonly cursor: string | null;
  /** Of the page after it; null = there is none. */
  readonly next: string | null;
  readonly onTurn: (cursor: string | null) => void;
}

/** Leads through a list, newest first. */
export function Pager({ cursor, next, onTurn }: PagerProps) {
  const button = (text: string, to: string | null) => (
    <button
      type="button"
      onClick={() => {
        onTurn(to);
      }}
    >
      {text}
    </button>
  );
  return (
    <p class="actions">
      {cursor !== null && button('First page', null)}
      {next !== null && button('Older', next)}
    </p>
  );
}

const SIGNS: Readonly<Record<string, string>> = { queued: '◌', running: '▶', done: '✓', failed: '✕', cancelled: '■' };

/** A run's status as a sign and a word, so that colour is never the only cue. */
export function StatusMark({ status }: { readonly status: string }) {
  return (
    <span class={`status status-${status}`}>
      <span aria-hidden="true">{SIGNS[status] ?? '·'}</span> {status}
    </span>
  );
}

/** Asks for an API key, which is kept in this tab. */
export function KeyForm({ onKey }: { readonly onKey: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [isRefused, setIsRefused] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? '';
    // A header can contain no others.
    const isSendable = /^[ -~]+$/.test(key);
    setIsRefused(!isSendable);
    if (!isSendable) return;
    keepKey(key);
    onKey();
  };
  return (
    <form class="key-form panel" onSubmit={submit}>
      <h1>API key</h1>
      <p>
        {currentKey() === null
          ? 'This service requires an API key. The key is kept until you close this tab and sent only to this service.'
          : 'The service did not accept that key.'}
      </p>
      <label>
        Key <input ref={field} type="password" autocomplete="off" spellcheck={false} required />
      </label>{' '}
      <button type="submit" class="primary">
        Use this key
      </button>
      {isRefused && (
        <Notice kind="problem">
          The key contains a character that no key can contain, perhaps an invisible one. Type it, or copy it again.
        </Notice>
      )}
    </form>
  );
}

/** The state of a request; the last successful answer is kept while reloading. */
export interface Answer<T> {
  readonly data: T | null;
  readonly problem: ApiProblem | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

interface Known<T> {
  readonly path: string | null;
  readonly data: T | null;
  readonly problem: ApiProblem | null;
  readonly loading: boolean;
}

type Get<T> = (path: string, signal: AbortSignal) => Promise<T>;

/**
 * Requests `path` now and whenever it changes; null requests nothing.
 * @param get must be the same function at each call
 */
export function useAnswer<T>(path: string | null, get: Get<T> = getJson as Get<T>): Answer<T> {
  const [known, setKnown] = useState<Known<T>>({ path, data: null, problem: null, loading: path !== null });
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const gone = new AbortController();
    setKnown((was) => ({ path, data: was.path === path ? was.data : null, problem: null, loading: true }));
    get(path, gone.signal).then(
      (data) => {
        setKnown({ path, data, problem: null, loading: false });
      },
      (error: unknown) => {
        if (gone.signal.aborted) return;
        setKnown((was) => ({ ...was, problem: problemOf(error), loading: false }));
      },
    );
    return () => {
      gone.abort();
    };
  }, [path, get, round]);
  const reload = useCallback(() => {
    setRound((count) => count + 1);
  }, []);
  const current = known.path === path ? known : { data: null, problem: null, loading: path !== null };
  return { ...current, reload };
}

interface Props<Name extends string> {
  readonly label: string;
  readonly tabs: Readonly<Record<Name, string>>;
  readonly open: Name;
  readonly onOpen: (name: Name) => void;
  readonly children: ComponentChildren;
}

/** Tabs following the ARIA pattern: arrow keys move between tabs, the tab key enters the panel. */
export function Tabs<Name extends string>({ label, tabs, open, onOpen, children }: Props<Name>) {
  const names = Object.keys(tabs) as Name[];
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = names[(names.indexOf(open) + step + names.length) % names.length];
    if (next === undefined) return;
    event.preventDefault();
    onOpen(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
        {names.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === open}
            aria-controls="tab-panel"
            tabIndex={name === open ? 0 : -1}
            onClick={() => {
              onOpen(name);
            }}
          >
            {tabs[name]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${open}`}>
        {children}
      </div>
    </>
  );
}
