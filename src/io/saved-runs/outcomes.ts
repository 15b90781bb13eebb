import type { Sealed } from './saved-run.js';

type Outcome = Pick<Sealed, 'resolved' | 'reason'>;

/**
 * Whether a patch is right, as columns and files state it: a boolean, 1 or 0 (also as floats), or either as text.
 * Undefined for an empty value, null for any other.
 */
export function readOutcome(value: unknown): boolean | null | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const text = typeof value === 'string' ? value.trim().toLowerCase() : JSON.stringify(value);
  if (/^(true|1(\.0*)?)$/.test(text)) return true;
  return /^(false|0(\.0*)?)$/.test(text) ? false : null;
}

/**
 * The outcome that columns state together: unknown, with the reason, if two contradict each other or one is neither true
 * nor false. Null when none states any.
 */
export function outcomeStatedBy(columns: readonly (readonly [name: string, value: unknown])[]): Outcome | null {
  const stated = columns.flatMap(([name, value]) => {
    const resolved = readOutcome(value);
    return resolved === undefined ? [] : [{ name, value, resolved }];
  });
  const [first] = stated;
  if (first === undefined) return null;
  const odd = stated.find(({ resolved }) => resolved === null);
  if (odd !== undefined) {
    const said = JSON.stringify(odd.value).slice(0, 80);
    return { resolved: null, reason: `${odd.name} is ${said}, which is neither true nor false` };
  }
  const other = stated.find(({ resolved }) => resolved !== first.resolved);
  if (other === undefined) return { resolved: first.resolved };
  return { resolved: null, reason: `${first.name} is ${String(first.resolved)}, but ${other.name} is not` };
}
