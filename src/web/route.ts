import { useEffect, useState } from 'preact/hooks';

/** `#/runs/ID/candidates/CID?tab=diff`: the decoded parts, and the query. */
export interface Route {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return { parts: path.split('/').filter(Boolean).map(unescaped), query: new URLSearchParams(query) };
}

/** Link to a page; ids of runs and candidates may contain any characters. */
export function linkTo(parts: readonly string[], query: Readonly<Record<string, string | null>> = {}): string {
  const said = Object.entries(query).flatMap(([name, value]) =>
    value === null || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `#/${parts.map(encodeURIComponent).join('/')}${said.length === 0 ? '' : `?${said.join('&')}`}`;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(window.location.hash));
  useEffect(() => {
    const follow = (): void => {
      setRoute(readRoute(window.location.hash));
    };
    window.addEventListener('hashchange', follow);
    return () => {
      window.removeEventListener('hashchange', follow);
    };
  }, []);
  return route;
}

/** Changes the route without a new history entry, for filters and tabs. */
export function replaceRoute(link: string): void {
  window.history.replaceState(null, '', link);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}

/** The text itself if it is not escaped properly. */
export function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
