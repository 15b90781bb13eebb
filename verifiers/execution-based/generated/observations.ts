import { z } from 'zod';

type Json = z.infer<ReturnType<typeof z.json>>;

/** Floats that are no further apart than this, relative to the larger one or to 1, are the same. */
const TOLERANCE = 1e-9;
/** The driver keeps no more of what a test says; what is cut off there is no observation. */
export const MOST_OBSERVED = 65_536;

/** What was observed against what is expected; an observation that cannot be read is none. */
export function compare(observed: string, expected: readonly Json[]): 'solved' | 'not-solved' | 'crashed' {
  const values = readObserved(observed);
  if (values === null || values.length === 0) return 'crashed';
  return same(values, [...expected]) ? 'solved' : 'not-solved';
}

/** One value a line; null where the text is cut off or no JSON. */
function readObserved(observed: string): Json[] | null {
  if (observed.length >= MOST_OBSERVED) return null;
  try {
    return observed
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => z.json().parse(JSON.parse(line)));
  } catch {
    return null;
  }
}

/** Equal as JSON, whatever the order of keys; numbers within the tolerance. */
export function same(a: Json, b: Json): boolean {
  if (typeof a === 'number' && typeof b === 'number') {
    return a === b || Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a), Math.abs(b));
  }
  if (!isComposed(a) || !isComposed(b)) return a === b;
  const other = new Map(Object.entries(b));
  const own = Object.entries(a);
  if (Array.isArray(a) !== Array.isArray(b) || own.length !== other.size) return false;
  return own.every(([key, value]) => {
    const beside = other.get(key);
    return beside !== undefined && same(value, beside);
  });
}

function isComposed(value: Json): value is Json[] | Record<string, Json> {
  return typeof value === 'object' && value !== null;
}
