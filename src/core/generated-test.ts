import { z } from 'zod';

/**
 * A complete script, run from the repository's root: exit 0 = solved, 2 = not solved, anything else = the test is
 * broken.
 */
export const GeneratedTest = z.object({
  instance_id: z.string().min(1).max(512),
  test_id: z.string().min(1).max(256),
  /** A name to show; its extension names the language. The script is never written inside the repository. */
  path: z.string().min(1).max(1024),
  content: z.string(),
  author: z
    .string()
    .nullish()
    .transform((author) => author ?? null),
});
export type GeneratedTest = z.infer<typeof GeneratedTest>;
