import { readFile, stat } from 'node:fs/promises';
import { parse } from 'yaml';
import { PriceTable } from '../../core/budget/budget.js';
import { BadInputError } from '../../core/errors/errors.js';

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

/**
 * A price table: model name → `{input, cached_input?, output}` in US dollars per million tokens; `*` is any other model.
 * @throws BadInputError naming file and field
 */
export async function readPrices(file: string): Promise<PriceTable> {
  const parsed = PriceTable.safeParse(await readYaml(file));
  if (parsed.success) return parsed.data;
  const [problem] = parsed.error.issues;
  throw new BadInputError(
    problem?.message ?? 'is wrong',
    { file, field: problem?.path.join('.') },
    'Write a line like `my-model: {input: 0.2, output: 0.8}`, in US dollars per million tokens.',
  );
}
