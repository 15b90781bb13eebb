import { z } from 'zod';

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
