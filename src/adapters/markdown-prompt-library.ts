import type { Liquid, Template } from 'liquidjs';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { contentKey } from '../core/fingerprint.js';
import { type Criterion, PromptLibrary, type RenderedPrompt } from '../ports/prompt-library.js';
import { readCriteria } from './criterion-files.js';
import { type PromptFile, readPromptFile } from './prompt-file.js';

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
  constructor(root: URL = new URL('../../prompts/', import.meta.url), criteria?: string) {
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
