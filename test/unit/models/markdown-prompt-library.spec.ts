import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MarkdownPromptLibrary } from '../../../src/models/prompts/prompt-library.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-prompts-'));
});
afterEach(() => rm(folder, { recursive: true }));

const write = (role: 'system' | 'user', body: string, id = 'greet', version = 1): Promise<void> =>
  writeFile(join(folder, `greet.${role}.md`), `---\nid: ${id}\nversion: ${version}\nrole: ${role}\n---\n${body}\n`);
const library = (): MarkdownPromptLibrary => new MarkdownPromptLibrary(pathToFileURL(`${folder}/`));

it('renders system before user, without front matter', async () => {
  await write('user', 'Hello {{ name }}.');
  await write('system', 'Be kind.');
  expect((await library().render('greet', { name: 'Ada' })).messages).toEqual([
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'Hello Ada.' },
  ]);
});

it('puts data in as it is, never as template', async () => {
  await write('user', '{{ name }}');
  const name = '{{ secret }} {% include "/etc/passwd" %} <b>&amp;</b> {% raw %}\n\n  x ';
  const { messages } = await library().render('greet', { name, secret: 'leaked' });
  expect(messages[0]?.content).toBe(name);
});

it('throws for a missing variable, an unknown filter, an unknown prompt', async () => {
  await write('user', '{{ nobody }}');
  await expect(library().render('greet', {})).rejects.toThrow(/nobody/);
  await write('user', '{{ name | shout }}');
  await expect(library().render('greet', { name: 'x' })).rejects.toThrow(/shout/);
  await expect(library().render('absent', {})).rejects.toThrow('no prompt "absent"');
});

it('throws for front matter that is not the file’s', async () => {
  await write('user', 'Hello', 'another');
  await expect(library().render('greet', {})).rejects.toThrow(/not user of greet/);
  await writeFile(join(folder, 'greet.user.md'), 'Hello');
  await expect(library().render('greet', {})).rejects.toThrow(/no front matter/);
});

it('hashes the files, front matter included, and not the data', async () => {
  await write('user', 'Hello {{ name }}.');
  const before = await library().render('greet', { name: 'Ada' });
  expect((await library().render('greet', { name: 'Bob' })).templateHash).toBe(before.templateHash);
  expect(await library().hashes()).toEqual({ greet: before.templateHash });
  await write('user', 'Hello {{ name }}.', 'greet', 2);
  expect((await library().hashes())['greet']).not.toBe(before.templateHash);
  await write('user', 'Hello {{ name }}.');
  await write('system', 'Be kind.');
  expect((await library().hashes())['greet']).not.toBe(before.templateHash);
});

it('finds the prompts that ship with bestk', async () => {
  expect(Object.keys(await new MarkdownPromptLibrary().hashes())).toContain('verifier/yes-no');
});
