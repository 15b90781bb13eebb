import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { Candidate } from '../../core/run/candidate.js';
import { Cell } from '../../core/run/generated-test.js';
import { BadInputError } from '../../core/errors/errors.js';
import { readText } from '../../io/records/records.js';
import { Selection } from '../../core/run/run-result.js';
import { Verdict } from '../../core/run/verdict.js';
import { ImportedFolder } from '../../io/saved-runs/imported-folder.js';

/** What is exported of one instance; what was never worked out is empty or null. */
export interface ExportedInstance {
  readonly instance_id: string;
  readonly problem_statement: string;
  readonly image: string | null;
  readonly candidates: readonly Candidate[];
  readonly verdicts: readonly Verdict[];
  readonly cells: readonly Cell[];
  readonly selection: Selection | null;
  /** Null where nothing was selected. */
  readonly preset: string | null;
}

const RunFile = z.object({
  request: z.object({
    issue: z.object({
      instance_id: z.string(),
      problem_statement: z.string(),
      environment: z.object({ image: z.string() }),
    }),
    candidates: z.array(Candidate).nullable(),
    preset: z.string(),
  }),
});

/**
 * The instances of a folder that `select`, `solve`, `rescore` or `import` left, one at a time.
 * @throws BadInputError when it is none of these, or damaged, naming the file
 */
export async function* exportSource(folder: string): AsyncGenerator<ExportedInstance> {
  if (existsSync(join(folder, 'run.json'))) {
    yield await ofRun(folder);
  } else if (existsSync(join(folder, 'selections.jsonl'))) {
    for (const run of runsOf(folder)) yield await ofRun(run);
  } else if (existsSync(join(folder, 'candidates.jsonl'))) {
    yield* ofImport(folder);
  } else {
    const at = { file: folder, field: '--run' };
    const arms = join(folder, 'arms');
    if (!existsSync(arms)) throw new BadInputError('is no folder of bestk’s.', at, 'Give the --out of a run.');
    const names = readdirSync(arms).map((name) => join(arms, name));
    throw new BadInputError('holds the arms of a benchmark.', at, `Name one of them: ${names.sort().join(', ')}`);
  }
}

/** Of a set, which has a folder an instance. */
function runsOf(folder: string): readonly string[] {
  const names = readdirSync(folder).sort();
  return names.map((name) => join(folder, name)).filter((each) => existsSync(join(each, 'run.json')));
}

async function ofRun(folder: string): Promise<ExportedInstance> {
  const { request } = await document(join(folder, 'run.json'), RunFile);
  const { issue } = request;
  return {
    instance_id: issue.instance_id,
    problem_statement: issue.problem_statement,
    image: issue.environment.image,
    candidates: request.candidates ?? (await rows(join(folder, 'candidates.jsonl'), Candidate)),
    verdicts: await rows(join(folder, 'verdicts.jsonl'), Verdict),
    cells: await rows(join(folder, 'matrix.jsonl'), Cell),
    selection: await document(join(folder, 'selection.json'), Selection),
    preset: request.preset,
  };
}

async function* ofImport(folder: string): AsyncGenerator<ExportedInstance> {
  const imported = await ImportedFolder.open(folder);
  for (const { instance_id, problem_statement, image } of imported.instances()) {
    const candidates = await imported.candidates(instance_id);
    const nothing = { verdicts: [], cells: [], selection: null, preset: null };
    yield { instance_id, problem_statement: problem_statement ?? '', image, candidates, ...nothing };
  }
}

async function document<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  return parsed(file, undefined, await readText(file), schema);
}

async function rows<T>(file: string, schema: z.ZodType<T>): Promise<T[]> {
  const lines = (await readText(file)).split('\n');
  return lines.flatMap((line, index) => (line === '' ? [] : [parsed(file, index + 1, line, schema)]));
}

function parsed<T>(file: string, line: number | undefined, content: string, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(content));
  } catch {
    throw new BadInputError('is damaged or of another version.', { file, line }, 'Run the command that made it again.');
  }
}
