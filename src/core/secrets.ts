import { createHash, timingSafeEqual } from 'node:crypto';

const HIDDEN = '[hidden]';
/** Shorter secrets occur in ordinary text by chance. */
const SHORTEST = 6;

/** Removes secrets from a text, also in their JSON and URL encodings. */
export function hider(secrets: readonly string[]): (text: string) => string {
  const spellings = secrets
    .filter(({ length }) => length >= SHORTEST)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);
  // Longer ones first, so that no part of one remains.
  const words = [...new Set(spellings)].toSorted((left, right) => right.length - left.length);
  return (text) => words.reduce((left, word) => left.replaceAll(word, HIDDEN), text);
}

/** The password of a URL, decoded. */
export function passwordIn(url: string | undefined): string | undefined {
  const password = url !== undefined && URL.canParse(url) ? new URL(url).password : '';
  return password === '' ? undefined : decodeURIComponent(password);
}

/** Permissions of a key: `read` views, `run` starts and cancels, `admin` deletes. None includes another. */
export const SCOPES = ['read', 'run', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** A key's name and permissions. Of the key itself, only its SHA-256 is kept. */
export interface ApiKey {
  /** Appears in the audit log. */
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly digest: Buffer;
}

const HASHED = /^([\w.-]{1,64}):((?:read|run|admin)(?:\+(?:read|run|admin))*):([0-9a-f]{64})$/i;

/**
 * Parses one entry of `BESTK_API_KEYS`: `name:scope+scope:SHA-256 of the key in hex`, or a plain key, which has all
 * scopes and is named by its position (`key-1`).
 * @returns null if it is neither; a plain key has no colon, so that a typo in a hash does not become a key
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

/** The matching key, if any; the time taken reveals neither the key nor how much of the offered one was right. */
export function findApiKey(offered: string, keys: readonly ApiKey[]): ApiKey | undefined {
  const digest = digestOf(offered);
  return keys.filter((key) => timingSafeEqual(key.digest, digest))[0];
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}
