import { z } from 'zod';
import { identifier, wholeText } from './identifier.js';

/**
 * A complete script, run from the repository's root: exit 0 = solved, 2 = not solved, anything else = the test is
 * broken.
 */
export const GeneratedTest = z.object({
  instance_id: identifier(512),
  test_id: identifier(256),
  /** A name to show; its extension names the language. The script is never written inside the repository. */
  path: z.string().min(1).max(1024),
  content: z.string(),
  author: z
    .string()
    .nullish()
    .transform((author) => author ?? null),
});
export type GeneratedTest = z.infer<typeof GeneratedTest>;

/** One that came from outside. */
export const GivenTest = GeneratedTest.extend({ content: wholeText() });
