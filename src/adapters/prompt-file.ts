import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { z } from 'zod';

const FrontMatter = z.strictObject({
  id: z.string(),
  version: z.int().positive(),
  role: z.enum(['system', 'user']),
});

/** One message of a prompt: Markdown behind YAML front matter. */
export interface PromptFile {
  /** The file as it is, front matter included; what is hashed. */
  readonly raw: string;
  readonly role: 'system' | 'user';
  readonly template: string;
}

/** @throws Error when the file is missing or its front matter is not that of `id` and `role`: a programming error */
export async function readPromptFile(file: URL, id: string, role: 'system' | 'user'): Promise<PromptFile> {
  const raw = await readFile(file, 'utf8');
  const [, frontMatter, template] = /^---\n(.*?)\n---\n(.*)$/s.exec(raw) ?? [];
  if (frontMatter === undefined || template === undefined) throw new Error(`${file.pathname} has no front matter.`);
  const known = FrontMatter.parse(parse(frontMatter));
  if (known.id !== id || known.role !== role) throw new Error(`${file.pathname} is not ${role} of ${id}.`);
  return { raw, role, template: template.trim() };
}
