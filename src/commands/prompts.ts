import type { Command } from 'commander';
import { BadInputError } from '../core/errors/errors.js';
import type { PromptLibrary } from '../ports/prompt-library.js';
import { printJson, printText } from './command.js';

const EXAMPLE = `
Example:
  $ bestk prompts
  $ bestk prompts verifier/yes-no

A file of the same name in the folder that BESTK_PROMPTS names replaces a shipped one, for instance
$BESTK_PROMPTS/verifier/yes-no.user.md; criteria/*.md there replace or join those of ef:rubric.

Exit: 0 done, 2 unknown id, or a file in BESTK_PROMPTS that is wrong.`;

/** `bestk prompts`: every prompt by id, or one as its files have it. */
export function registerPrompts(program: Command, openPrompts: () => Promise<PromptLibrary>): void {
  program
    .command('prompts')
    .description('list the prompts that models are asked with, or print one')
    .argument('[id]', 'prompt to print')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (id: string | undefined, { json }: { json?: true }) => {
      const all = await (await openPrompts()).list();
      const shown = id === undefined ? all : all.filter((prompt) => prompt.id === id);
      if (shown.length === 0) {
        throw new BadInputError(`There is no prompt "${id}".`, {}, 'List the ids with `bestk prompts`.');
      }
      if (json === true) printJson({ prompts: shown });
      else if (id === undefined) for (const prompt of shown) printText(lineOf(prompt));
      else for (const { path, text } of shown[0]?.files ?? []) printText(`# ${path}\n${text}`);
    });
}

function lineOf({ id, hash, files }: Awaited<ReturnType<PromptLibrary['list']>>[number]): string {
  const own = files.filter((file) => file.own).map(({ path }) => path);
  return `${hash.slice(0, 12)}  ${id}${own.length === 0 ? '' : `  (${own.join(', ')})`}`;
}
