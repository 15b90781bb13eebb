import { createHash, timingSafeEqual } from 'node:crypto';

const HIDDEN = '[hidden]';
/** What is shorter stands in ordinary text by chance. */
const SHORTEST = 6;

/** Takes secrets out of a text, in the spellings that JSON and URLs have for them. */
export function hider(secrets: readonly string[]): (text: string) => string {
  const spellings = secrets
    .filter(({ length }) => length >= SHORTEST)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);
  // A longer one first, so that no part of it stays.
  const words = [...new Set(spellings)].toSorted((left, right) => right.length - left.length);
  return (text) => words.reduce((left, word) => left.replaceAll(word, HIDDEN), text);
}

/** The password of a URL, as it was before it was spelt for one. */
export function passwordIn(url: string | undefined): string | undefined {
  const password = url !== undefined && URL.canParse(url) ? new URL(url).password : '';
  return password === '' ? undefined : decodeURIComponent(password);
}

/** What a key may do: `read` looks, `run` starts and cancels, `admin` deletes. None includes another. */
export const SCOPES = ['read', 'run', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Who may ask, and for what. Of the key itself nothing is kept but its SHA-256. */
export interface ApiKey {
  /** Stands in the audit log. */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly digest: Buffer;
}

const HASHED = /^([\w.-]{1,64}):((?:read|run|admin)(?:\+(?:read|run|admin))*):([0-9a-f]{64})$/i;

/**
 * One entry of `BESTK_API_KEYS`: `name:scope+scope:SHA-256 of the key in hex`, or a key as it is, which may do
 * everything and is called by its place (`key-1`).
 * @returns null for what is neither; a key that stands as it is has no colon, so that a slip in a hash is not a key
 */
export function readApiKey(entry: string, index: number): ApiKey | null {
  const [, name, scopes, digest] = HASHED.exec(entry) ?? [];
  if (name !== undefined && scopes !== undefined && digest !== undefined) {
    const wanted = scopes.toLowerCase().split('+');
    const granted = new Set(SCOPES.filter((scope) => wanted.includes(scope)));
    return { name, scopes: granted, digest: Buffer.from(digest, 'hex') };
  }
  if (entry.includes(':')) return null;
  return { name: `key-${index + 1}`, scopes: new Set(SCOPES), digest: digestOf(entry) };
}

/** The key that was offered, if any; the time it takes tells neither which it is nor how much of it was right. */
export function findApiKey(offered: string, keys: readonly ApiKey[]): ApiKey | undefined {
  const digest = digestOf(offered);
  return keys.filter((key) => timingSafeEqual(key.digest, digest))[0];
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}
