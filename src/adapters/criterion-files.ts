import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { BadInputError } from '../core/errors.js';
import { sha256 } from '../core/fingerprint.js';
import type { Criterion } from '../ports/prompt-library.js';

const FrontMatter = z.strictObject({ id: z.string(), version: z.int().positive(), title: z.string().min(1) });

/**
 * The criteria of a folder: each `<id>.md` is Markdown behind YAML front matter `{id, version, title}`.
 * @throws BadInputError naming file and field
 */
export async function readCriteria(folder: string): Promise<readonly Criterion[]> {
  const files = await readdir(folder).catch((error: unknown) => {
    throw new BadInputError(
      `cannot be read (${(error as Error).message})`,
      { file: folder },
      'Check BESTK_EF_CRITERIA.',
    );
  });
  const names = files.filter((file) => file.endsWith('.md')).sort();
  if (names.length === 0)
    throw new BadInputError('holds no criterion.', { file: folder }, 'Add a file like root-cause.md.');
  return Promise.all(names.map((name) => readCriterion(join(folder, name), name.slice(0, -'.md'.length))));
}

async function readCriterion(file: string, id: string): Promise<Criterion> {
  const raw = await readFile(file, 'utf8');
  const [, frontMatter, text] = /^---\n(.*?)\n---\n(.*)$/s.exec(raw) ?? [];
  if (frontMatter === undefined || text === undefined || text.trim() === '') {
    throw new BadInputError('has no front matter with a text behind it.', { file }, 'Write it like root-cause.md.');
  }
  const parsed = FrontMatter.safeParse(parse(frontMatter));
  const [problem] = parsed.error?.issues ?? [];
  if (problem !== undefined) throw new BadInputError(problem.message, { file, field: problem.path.join('.') });
  if (parsed.data?.id !== id) throw new BadInputError(`must be "${id}", as the file is named.`, { file, field: 'id' });
  return { id, title: parsed.data.title, text: text.trim(), hash: sha256(raw) };
}
