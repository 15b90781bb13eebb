import { PriceTable } from '../core/budget.js';
import { BadInputError } from '../core/errors.js';
import { readYaml } from './read-yaml.js';

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
