import { useCallback, useEffect, useState } from 'preact/hooks';
import { ApiProblem, getJson } from './api.js';

/** What is known of an answer; the last good one stays while it is asked for again. */
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

/** Asks for `path` now and whenever it changes; null asks for nothing. @param get the same at each call */
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
        const problem = error instanceof ApiProblem ? error : new ApiProblem(String(error), 0, '');
        setKnown((was) => ({ ...was, problem, loading: false }));
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
