import type { ComponentChildren } from 'preact';
import type { ApiProblem } from './api.js';
import type { Answer } from './use-answer.js';

/** Something that a reader should know: `problem` is said at once by a screen reader. */
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
  /** What is waited for, in words. */
  readonly what: string;
  readonly children: (data: T) => ComponentChildren;
}

/** An answer when it is there, and until then why it is not. What was there before stays beside a problem. */
export function Awaited<T>({ answer: { data, problem, reload }, what, children }: AwaitedProps<T>) {
  return (
    <>
      {problem !== null && <Problem problem={problem} retry={reload} />}
      {data === null && problem === null && <Loading what={what} />}
      {data !== null && children(data)}
    </>
  );
}

const SIGNS: Readonly<Record<string, string>> = { queued: '◌', running: '▶', done: '✓', failed: '✕', cancelled: '■' };

/** A run's status as a sign and a word: never colour alone. */
export function StatusMark({ status }: { readonly status: string }) {
  return (
    <span class={`status status-${status}`}>
      <span aria-hidden="true">{SIGNS[status] ?? '·'}</span> {status}
    </span>
  );
}
