import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
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
async function inFolder(sub: string, name: string): Promise<string> {
  await mkdir(join(folder, sub), { recursive: true });
  return join(folder, sub, name);
}
const library = (): MarkdownPromptLibrary => new MarkdownPromptLibrary(undefined, pathToFileURL(`${folder}/`));

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
  await expect(library().render('greet', {})).rejects.toThrow(/greet\.user\.md, field "id": must be "greet"/);
  await writeFile(join(folder, 'greet.user.md'), 'Hello');
  await expect(library().render('greet', {})).rejects.toThrow(/no front matter/);
});

it('hashes the files, front matter included, and not the data', async () => {
  await write('user', 'Hello {{ name }}.');
  await writeFile(await inFolder('criteria', 'tidy.md'), '---\nid: tidy\nversion: 1\ntitle: Tidy\n---\nIs it tidy?\n');
  const before = await library().render('greet', { name: 'Ada' });
  expect((await library().render('greet', { name: 'Bob' })).templateHash).toBe(before.templateHash);
  expect(await library().hashes()).toEqual({
    greet: before.templateHash,
    'criteria/tidy': expect.stringMatching(/^[0-9a-f]{64}$/) as unknown,
  });
  await write('user', 'Hello {{ name }}.', 'greet', 2);
  expect((await library().hashes())['greet']).not.toBe(before.templateHash);
  await write('user', 'Hello {{ name }}.');
  await write('system', 'Be kind.');
  expect((await library().hashes())['greet']).not.toBe(before.templateHash);
});

it('finds the prompts that ship with bestk', async () => {
  expect(Object.keys(await new MarkdownPromptLibrary().hashes())).toContain('verifier/yes-no');
});

describe('prompts of the user', () => {
  const own = (): MarkdownPromptLibrary => new MarkdownPromptLibrary(folder);
  const SHIPPED = new MarkdownPromptLibrary();
  const head = (id: string, role: string): string => `---\nid: ${id}\nversion: 7\nrole: ${role}\n---\n`;
  const variables = { attempt: 'A', source: '', steps: 'S', tests: '', think: false, title: 'T', criterion: 'C' };

  it('replace shipped ones file by file and change their hash', async () => {
    await writeFile(
      await inFolder('verifier', 'rubric.user.md'),
      `${head('verifier/rubric', 'user')}{{ attempt }} by {{ title }}: {{ criterion }}`,
    );
    const { messages, templateHash } = await own().render('verifier/rubric', variables);
    const shipped = await SHIPPED.render('verifier/rubric', variables);
    expect(messages).toEqual([shipped.messages[0], { role: 'user', content: 'A by T: C' }]);
    expect(templateHash).not.toBe(shipped.templateHash);
    const hashes = { before: await SHIPPED.hashes(), after: await own().hashes() };
    const changed = Object.keys(hashes.before).filter((id) => hashes.before[id] !== hashes.after[id]);
    expect(changed).toEqual(['verifier/rubric']);
    const listed = (await own().list()).find(({ id }) => id === 'verifier/rubric');
    expect(listed?.files.map(({ role, own: mine }) => [role, mine])).toEqual([
      ['system', false],
      ['user', true],
    ]);
  });

  it('replace and add criteria', async () => {
    const criterion = (id: string): string => `---\nid: ${id}\nversion: 1\ntitle: Mine\n---\nIs it?\n`;
    await writeFile(await inFolder('criteria', 'root-cause.md'), criterion('root-cause'));
    await writeFile(await inFolder('criteria', 'a-first.md'), criterion('a-first'));
    const titles = (await own().criteria()).map(({ id, title }) => [id, title]);
    expect(titles[0]).toEqual(['a-first', 'Mine']);
    expect(titles).toContainEqual(['root-cause', 'Mine']);
    expect(titles.map(([id]) => id)).toContain('code-quality');
  });

  it('take a criterion away with an empty file, but not all of them', async () => {
    for (const { id } of await SHIPPED.criteria()) await writeFile(await inFolder('criteria', `${id}.md`), '');
    await expect(own().criteria()).rejects.toThrow(/criteria: leaves no criterion/);
    await writeFile(
      await inFolder('criteria', 'root-cause.md'),
      '---\nid: root-cause\nversion: 1\ntitle: Mine\n---\nIs it?\n',
    );
    expect((await own().criteria()).map(({ title }) => title)).toEqual(['Mine']);
  });

  it.each([
    [
      'an id that no prompt has',
      'verifier/yesno.user.md',
      head('verifier/yesno', 'user') + 'x',
      /"verifier\/yesno".*not a prompt/,
    ],
    [
      'another id',
      'verifier/rubric.user.md',
      head('verifier/grade', 'user') + 'x',
      /field "id": must be "verifier\/rubric"/,
    ],
    [
      'a variable it is not given',
      'verifier/rubric.user.md',
      head('verifier/rubric', 'user') + '{{ label }}',
      /field "label": is not a variable of this prompt; it has attempt, criterion, /,
    ],
    [
      'a template that is none',
      'verifier/rubric.user.md',
      head('verifier/rubric', 'user') + '{% if %',
      /rubric\.user\.md: is not a Liquid template/,
    ],
    ['no front matter', 'verifier/rubric.user.md', 'x', /has no front matter/],
    ['front matter that is no YAML', 'verifier/rubric.user.md', '---\nid: [\n---\nx', /not YAML/],
  ])('are refused with %s', async (_name, file, text, words) => {
    const [sub = '', name = ''] = file.split('/');
    await writeFile(await inFolder(sub, name), text);
    await expect(own().list()).rejects.toThrow(words);
  });

  it('are refused where there is no folder', async () => {
    await expect(new MarkdownPromptLibrary('/nowhere').list()).rejects.toThrow(/BESTK_PROMPTS|nowhere/);
  });
});
