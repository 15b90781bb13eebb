import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
import { BadInputError } from '../core/errors/errors.js';
import { Measure, Verdict } from '../core/run/verdict.js';
import { OwnVerifierName, type Verifier } from '../core/run/verifier.js';
import type { MakeVerifier, OwnVerifiers } from '../../verifiers/index.js';

/** Exports of a module in BESTK_VERIFIERS. */
const OwnModule = z.object({
  name: OwnVerifierName,
  create: z.custom<MakeVerifier>((value) => typeof value === 'function', 'must be a function'),
});

/** Only facts: how judges and tests count in P(right) depends on how bestk itself runs them. */
const OwnMeasures = z.array(Measure.extend({ name: Measure.shape.name.includes(':'), kind: z.literal('fact') })).min(1);

/**
 * Loads the user's verifiers, once per process.
 * @param files modules, relative to the working directory
 * @throws BadInputError naming the file
 */
export async function loadOwnVerifiers(files: readonly string[]): Promise<OwnVerifiers> {
  const own = new Map<string, MakeVerifier>();
  for (const file of files) {
    const { name, create } = read(OwnModule, await load(file), file, 'does not export a verifier');
    if (own.has(name)) throw wrong(file, `is the second module with the verifier "${name}".`);
    own.set(name, (ports) => checked({ ...create(ports), name }, file));
  }
  return own;
}

async function load(file: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    throw wrong(file, `cannot be loaded: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Wraps a verifier: validates its declared measures and its verdicts. */
function checked(given: Verifier, file: string): Verifier {
  const declared = read(OwnMeasures, given.measures, file, 'declares a wrong measure');
  const names = new Set<string>(declared.map(({ name }) => name));
  return {
    ...given,
    measures: declared,
    verify: async (task, signal) => {
      const verdicts = read(z.array(Verdict), await given.verify(task, signal), file, 'returned a wrong verdict');
      const due = new Set(
        task.candidates.flatMap(({ candidate_id }) => [...names].map((name) => on(candidate_id, name))),
      );
      for (const { candidate_id, measure } of verdicts) {
        const what = on(candidate_id, measure);
        if (!due.delete(what)) throw wrong(file, `returned a verdict ${what} that is not due, or not a second time.`);
      }
      const [missing] = due;
      if (missing !== undefined) throw wrong(file, `returned no verdict ${missing}.`);
      return verdicts;
    },
  };
}

function on(candidateId: string, measure: string): string {
  return `on candidate ${JSON.stringify(candidateId)} in ${JSON.stringify(measure)}`;
}

function read<T>(schema: z.ZodType<T>, value: unknown, file: string, problem: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first] = parsed.error.issues;
  throw wrong(file, `${problem}: ${first?.path.join('.') ?? ''} ${first?.message ?? ''}`);
}

function wrong(file: string, problem: string): BadInputError {
  const next = 'Correct the module, or take it out of BESTK_VERIFIERS; examples/verifier shows one.';
  return new BadInputError(problem, { file, field: 'BESTK_VERIFIERS' }, next);
}
