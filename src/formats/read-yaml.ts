import { readFile, stat } from 'node:fs/promises';
import { parse } from 'yaml';
import { BadInputError } from '../core/errors.js';

const LARGEST = 1024 * 1024;

/**
 * The value of a small YAML or JSON file (up to 1 MB), aliases refused.
 * @throws BadInputError naming file and, where it is not YAML, the line
 */
export async function readYaml(file: string): Promise<unknown> {
  try {
    if ((await stat(file)).size > LARGEST) throw new Error('it is larger than 1 MB');
    return parsed(await readFile(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof BadInputError) throw error;
    throw new BadInputError(`cannot be read: ${(error as Error).message}`, { file });
  }
}

function parsed(text: string, file: string): unknown {
  try {
    return parse(text, { maxAliasCount: 0 });
  } catch (error) {
    const problem = error as Error & { linePos?: readonly { readonly line: number }[] };
    throw new BadInputError(`is not YAML: ${problem.message.split('\n')[0] ?? ''}`, {
      file,
      line: problem.linePos?.[0]?.line,
    });
  }
}
