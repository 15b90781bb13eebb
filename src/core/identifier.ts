import { z } from 'zod';
import { hash } from 'node:crypto';

/** An id that people chose; no NUL and no half of a character, which databases and files take for something else. */
export function identifier(longest: number) {
  return z
    .string()
    .min(1)
    .max(longest)
    .regex(/^[^\0\p{Cs}]*$/u, 'holds a NUL or half of a character');
}

/** Text that is used byte for byte. Half of a character has no bytes: something else would be applied than was sent. */
export function wholeText() {
  return z
    .string()
    .refine((text) => !/\p{Cs}/u.test(text), 'holds half of a character (a lone surrogate); send whole ones');
}

/** Text that is only shown and read: half of a character in it, as programs print them, becomes U+FFFD. */
export function shownText() {
  return z.string().overwrite((text) => text.replaceAll(/\p{Cs}/gu, '\ufffd'));
}

/** Text that a program is given as an argument, which ends at a NUL. */
export function argument() {
  return z
    .string()
    .min(1)
    .refine((text) => !/[\0\p{Cs}]/u.test(text), 'holds a NUL or half of a character');
}

const TICKS_PER_MS = 1_000;
const TICK_DIGITS = 11;

/** Makes ids that sort by creation time: `run_`, or another beginning, 11 base-36 digits of microseconds, 12 random hex digits. */
export class RunIdSource {
  private lastTick = 0;

  constructor(private readonly prefix = 'run_') {}

  /** @param now milliseconds since 1970; ids of one source ascend even when the clock stands still or steps back */
  next(now: number): string {
    this.lastTick = Math.max(now * TICKS_PER_MS, this.lastTick + 1);
    const random = globalThis.crypto.randomUUID().slice(-12);
    return `${this.prefix}${this.lastTick.toString(36).padStart(TICK_DIGITS, '0')}${random}`;
  }
}

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
