import { hash } from 'node:crypto';

/** Lower-case hex SHA-256 (64 characters) of a text's UTF-8 bytes. */
export function sha256(text: string): string {
  return hash('sha256', text);
}

/**
 * Content key of a value: SHA-256 of its JSON with object keys sorted, so that equal values have equal keys
 * however they were built. `undefined` members are left out, as JSON does.
 */
export function contentKey(value: unknown): string {
  return sha256(JSON.stringify(value, sortKeys));
}

function sortKeys(_key: string, value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
