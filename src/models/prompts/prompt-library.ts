import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Liquid, Template } from 'liquidjs';
import { parse } from 'yaml';
import { z } from 'zod';
import { BadInputError, parsed } from '../../core/errors/errors.js';
import { contentKey, sha256 } from '../../core/identifier.js';
import {
  type Criterion,
  type PromptDescription,
  PromptLibrary,
  type RenderedPrompt,
} from '../../ports/prompt-library.js';

const ROLES = ['system', 'user'] as const;
const FILE_NAME = /^(.+)\.(?:system|user)\.md$/;
const CRITERIA = 'criteria';

interface Prompt {
  readonly messages: readonly { readonly role: PromptFile['role']; readonly template: Template[] }[];
  readonly hash: string;
  readonly files: readonly PromptFile[];
}

/**
 * `<name>.system.md` and `<name>.user.md` as Liquid templates with strict variables and filters; user files override bundled
 * ones. Data is inserted verbatim: never parsed as template, never escaped.
 */
export class MarkdownPromptLibrary extends PromptLibrary {
  readonly #shipped: string;
  readonly #own: string | undefined;
  #criteria: Promise<readonly CriterionFile[]> | undefined;
  readonly #prompts = new Map<string, Promise<Prompt>>();
  #engine: Promise<Liquid> | undefined;
  #listed: Promise<readonly PromptDescription[]> | undefined;

  /**
   * @param own the user's folder: replaces bundled prompts and criteria by id, file by file, and adds criteria
   * @param shipped folder URL with a trailing slash
   */
  constructor(own?: string, shipped: URL = new URL('../../../prompts/', import.meta.url)) {
    super();
    this.#shipped = fileURLToPath(shipped);
    this.#own = own;
  }

  criteria(): Promise<readonly Criterion[]> {
    return this.#criterionFiles();
  }

  async render(name: string, variables: Readonly<Record<string, unknown>>): Promise<RenderedPrompt> {
    const [engine, prompt] = await Promise.all([this.#liquid(), this.#load(name)]);
    // The user message may repeat the system message, as some verifiers were trained that way.
    let system = '';
    const messages = prompt.messages.map(({ role, template }) => {
      const content = String(engine.renderSync(template, { ...variables, system }));
      if (role === 'system') system = content;
      return { role, content };
    });
    return { messages, templateHash: prompt.hash };
  }

  /** Read once, since every run reports the hashes. */
  list(): Promise<readonly PromptDescription[]> {
    this.#listed ??= this.#readAll();
    return this.#listed;
  }

  async #readAll(): Promise<readonly PromptDescription[]> {
    const names = await namesIn(this.#shipped);
    await this.#refuseStrangers(new Set(names));
    const prompts = names.map(async (id): Promise<PromptDescription> => {
      const { hash, files } = await this.#load(id);
      return { id, hash, files: files.map(({ role, path, own, raw }) => ({ role, path, own, text: raw })) };
    });
    const criteria = (await this.#criterionFiles()).map(({ id, hash, path, own, raw }): PromptDescription => {
      return { id: `${CRITERIA}/${id}`, hash, files: [{ role: 'criterion', path, own, text: raw }] };
    });
    return [...(await Promise.all(prompts)), ...criteria].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Rejects unknown names: a file with a misspelt name would have no effect. */
  async #refuseStrangers(known: ReadonlySet<string>): Promise<void> {
    const folder = this.#own;
    const stranger = folder === undefined ? undefined : (await namesIn(folder)).find((name) => !known.has(name));
    if (stranger === undefined) return;
    throw new BadInputError(
      `contains "${stranger}", which is not a prompt of bestk.`,
      { file: folder },
      'List the ids with `bestk prompts`, or remove the file.',
    );
  }

  #criterionFiles(): Promise<readonly CriterionFile[]> {
    this.#criteria ??= this.#readCriteria();
    return this.#criteria;
  }

  async #readCriteria(): Promise<readonly CriterionFile[]> {
    const overlay = this.#own === undefined ? undefined : join(this.#own, CRITERIA);
    const over = overlay === undefined || !existsSync(overlay) ? [] : await readCriteria(overlay, true);
    const byId = new Map([...(await readCriteria(join(this.#shipped, CRITERIA), false)), ...over]);
    const kept = [...byId.values()].filter((each) => each !== null);
    if (kept.length === 0)
      throw new BadInputError('leaves no criterion.', { file: overlay }, 'Add a file like root-cause.md.');
    return kept.sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  #load(name: string): Promise<Prompt> {
    const known = this.#prompts.get(name);
    if (known !== undefined) return known;
    const prompt = this.#parse(name);
    this.#prompts.set(name, prompt);
    return prompt;
  }

  async #parse(name: string): Promise<Prompt> {
    const shipped = await this.#filesOf(this.#shipped, name, false);
    if (shipped.length === 0) throw new Error(`There is no prompt "${name}" in ${this.#shipped}.`);
    const own = this.#own === undefined ? [] : await this.#filesOf(this.#own, name, true);
    const files = ROLES.flatMap((role) => [...own, ...shipped].find((file) => file.role === role) ?? []);
    const engine = await this.#liquid();
    const given = new Set(['system', ...shipped.flatMap(({ template }) => engine.globalVariablesSync(template))]);
    return {
      messages: files.map((file) => ({ role: file.role, template: parsedTemplate(engine, file, given) })),
      hash: contentKey(files.map(({ role, raw }) => [role, raw])),
      files,
    };
  }

  async #filesOf(folder: string, name: string, own: boolean): Promise<readonly PromptFile[]> {
    const present = ROLES.filter((role) => existsSync(join(folder, `${name}.${role}.md`)));
    return Promise.all(present.map((role) => readPromptFile(folder, { id: name, role, own })));
  }

  #liquid(): Promise<Liquid> {
    this.#engine ??= import('liquidjs').then(
      (liquid) => new liquid.Liquid({ strictVariables: true, strictFilters: true, ownPropertyOnly: true }),
    );
    return this.#engine;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const files = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new BadInputError(`cannot be read (${(error as Error).message})`, { file: folder }, 'Check BESTK_PROMPTS.');
  });
  return [...new Set(files.flatMap((file) => FILE_NAME.exec(file.replaceAll('\\', '/'))?.[1] ?? []))].sort();
}

/** @throws BadInputError for a template that cannot be parsed, or uses a variable this prompt does not get */
function parsedTemplate(engine: Liquid, { path, template, own }: PromptFile, given: ReadonlySet<string>): Template[] {
  if (!own) return engine.parse(template);
  try {
    const stranger = engine.globalVariablesSync(template).find((name) => !given.has(name));
    if (stranger === undefined) return engine.parse(template);
    const names = [...given].sort().join(', ');
    throw new BadInputError(`is not a variable of this prompt; it has ${names}.`, { file: path, field: stranger });
  } catch (error) {
    if (error instanceof BadInputError) throw error;
    throw new BadInputError(`is not a Liquid template (${(error as Error).message})`, { file: path });
  }
}

const FrontMatter = z.strictObject({
  id: z.string(),
  version: z.int().positive(),
  role: z.enum(['system', 'user']),
});

/** One message of a prompt: Markdown after YAML front matter. */
interface PromptFile {
  readonly path: string;
  readonly own: boolean;
  /** The unmodified file including front matter, which is hashed. */
  readonly raw: string;
  readonly role: 'system' | 'user';
  readonly template: string;
}

/** @throws BadInputError when the file's front matter is missing or does not match `id` and `role` */
async function readPromptFile(
  folder: string,
  { id, role, own }: Pick<PromptFile, 'role' | 'own'> & { readonly id: string },
): Promise<PromptFile> {
  const path = join(folder, `${id}.${role}.md`);
  const { raw, head, text } = await readMarkdown(path, `Begin it with id: ${id}, version: 1, role: ${role}.`);
  const { id: said, role: as } = parsed(FrontMatter, parseYaml(head, path), { file: path });
  if (said !== id) throw new BadInputError(`must be "${id}", as the file is named.`, { file: path, field: 'id' });
  if (as !== role) throw new BadInputError(`must be "${role}", as the file is named.`, { file: path, field: 'role' });
  return { path, own, raw, role, template: text.trim() };
}

async function readMarkdown(file: string, example: string): Promise<{ raw: string; head: string; text: string }> {
  const raw = await readFile(file, 'utf8');
  const [, head, text] = /^---\n(.*?)\n---\n(.*)$/s.exec(raw) ?? [];
  if (head === undefined || text === undefined || text.trim() === '') {
    throw new BadInputError('has no front matter followed by text.', { file }, example);
  }
  return { raw, head, text };
}

function parseYaml(head: string, file: string): unknown {
  try {
    return parse(head);
  } catch (error) {
    throw new BadInputError(`has front matter that is not YAML (${(error as Error).message})`, { file });
  }
}

const CriterionFrontMatter = z.strictObject({
  id: z.string(),
  version: z.int().positive(),
  title: z.string().min(1),
  /** `trajectory`: skipped for a patch without one. */
  needs: z.literal('trajectory').optional(),
});

interface CriterionFile extends Criterion {
  readonly path: string;
  readonly own: boolean;
  readonly raw: string;
}

/**
 * The criteria of a folder by id: each `<id>.md` is Markdown after YAML front matter `{id, version, title, needs?}`; null for
 * an empty file, which removes that criterion.
 * @throws BadInputError naming file and field
 */
async function readCriteria(folder: string, own: boolean): Promise<readonly [string, CriterionFile | null][]> {
  const names = (await readdir(folder)).filter((file) => file.endsWith('.md'));
  return Promise.all(
    names.map(async (name): Promise<[string, CriterionFile | null]> => {
      const path = join(folder, name);
      const id = name.slice(0, -'.md'.length);
      if ((await stat(path)).size === 0) return [id, null];
      const { raw, head, text } = await readMarkdown(path, 'Write it like root-cause.md.');
      const { id: said, title, needs } = parsed(CriterionFrontMatter, parseYaml(head, path), { file: path });
      if (said !== id) throw new BadInputError(`must be "${id}", as the file is named.`, { file: path, field: 'id' });
      const needsSteps = needs === 'trajectory';
      return [id, { id, title, text: text.trim(), needsSteps, hash: sha256(raw), path, own, raw }];
    }),
  );
}
