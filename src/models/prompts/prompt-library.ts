import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Liquid, Template } from 'liquidjs';
import { parse } from 'yaml';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { contentKey, sha256 } from '../../core/fingerprint.js';
import { type Criterion, PromptLibrary, type RenderedPrompt } from '../../ports/prompt-library.js';

const ROLES = ['system', 'user'] as const;
const FILE_NAME = /^(.+)\.(?:system|user)\.md$/;

interface Prompt {
  readonly messages: readonly { readonly role: PromptFile['role']; readonly template: Template[] }[];
  readonly hash: string;
}

/**
 * `prompts/<name>.system.md` and `prompts/<name>.user.md` as Liquid templates with strict variables and filters. Data
 * is put in as it is: never parsed as template, never escaped.
 */
export class MarkdownPromptLibrary extends PromptLibrary {
  readonly #root: URL;
  readonly #criteria: string;
  #read: Promise<readonly Criterion[]> | undefined;
  readonly #prompts = new Map<string, Promise<Prompt>>();
  #engine: Promise<Liquid> | undefined;

  /**
   * @param root folder URL with a slash at its end
   * @param criteria folder of criteria to use instead of the shipped ones
   */
  constructor(root: URL = new URL('../../../prompts/', import.meta.url), criteria?: string) {
    super();
    this.#root = root;
    this.#criteria = criteria ?? fileURLToPath(new URL('criteria/', root));
  }

  criteria(): Promise<readonly Criterion[]> {
    this.#read ??= readCriteria(this.#criteria);
    return this.#read;
  }

  async render(name: string, variables: Readonly<Record<string, unknown>>): Promise<RenderedPrompt> {
    const [engine, prompt] = await Promise.all([this.#liquid(), this.#load(name)]);
    const messages = prompt.messages.map(({ role, template }) => ({
      role,
      content: String(engine.renderSync(template, { ...variables })),
    }));
    return { messages, templateHash: prompt.hash };
  }

  async hashes(): Promise<Readonly<Record<string, string>>> {
    const files = await readdir(this.#root, { recursive: true });
    const names = files.flatMap((file) => FILE_NAME.exec(file.replaceAll('\\', '/'))?.[1] ?? []);
    const sorted = [...new Set(names)].sort();
    const entries = sorted.map(async (name) => [name, (await this.#load(name)).hash] as const);
    return Object.fromEntries(await Promise.all(entries));
  }

  #load(name: string): Promise<Prompt> {
    const known = this.#prompts.get(name);
    if (known !== undefined) return known;
    const prompt = this.#parse(name);
    this.#prompts.set(name, prompt);
    return prompt;
  }

  async #parse(name: string): Promise<Prompt> {
    const present = ROLES.map((role) => ({ role, url: new URL(`${name}.${role}.md`, this.#root) })).filter(({ url }) =>
      existsSync(url),
    );
    if (present.length === 0) throw new Error(`There is no prompt "${name}" in ${this.#root.pathname}.`);
    const files = await Promise.all(present.map(({ role, url }) => readPromptFile(url, name, role)));
    const engine = await this.#liquid();
    return {
      messages: files.map(({ role, template }) => ({ role, template: engine.parse(template) })),
      hash: contentKey(files.map(({ role, raw }) => [role, raw])),
    };
  }

  #liquid(): Promise<Liquid> {
    this.#engine ??= import('liquidjs').then(
      (liquid) => new liquid.Liquid({ strictVariables: true, strictFilters: true, ownPropertyOnly: true }),
    );
    return this.#engine;
  }
}

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

const CriterionFrontMatter = z.strictObject({ id: z.string(), version: z.int().positive(), title: z.string().min(1) });

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
  const parsed = CriterionFrontMatter.safeParse(parse(frontMatter));
  const [problem] = parsed.error?.issues ?? [];
  if (problem !== undefined) throw new BadInputError(problem.message, { file, field: problem.path.join('.') });
  if (parsed.data?.id !== id) throw new BadInputError(`must be "${id}", as the file is named.`, { file, field: 'id' });
  return { id, title: parsed.data.title, text: text.trim(), hash: sha256(raw) };
}
