import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { Budget } from '../../core/budget/budget.js';
import { BadInputError } from '../../core/errors/errors.js';
import { DataSetFilter } from '../../io/datasets/filter.js';
import { readYaml } from '../../io/inputs/yaml.js';
import { writeWhole } from '../../reports/write-run.js';

const Paths = z
  .union([
    z
      .string()
      .min(1)
      .transform((path) => [path]),
    z.array(z.string().min(1)).min(1),
  ])
  .optional();

/** One way to solve the issues. */
const Arm = z.strictObject({
  name: z.string().regex(/^[\w-][\w.-]{0,63}$/, 'must be of letters, digits, ".", "_" and "-"'),
  /** The agent's model, instead of BESTK_AGENT_MODEL. */
  agent: z.string().min(1).optional(),
  k: z.int().min(1).optional(),
  k0: z.int().min(1).optional(),
  seed: z.int().min(0).optional(),
  /** Verifiers, as `--verifiers` names them. */
  judges: z.array(z.string().min(1)).min(1).optional(),
  /** File of saved generated tests. */
  tests: z.string().min(1).optional(),
  /** A name, or a file (.yaml, .yml, .json). */
  preset: z.string().min(1).optional(),
  /** Files, as `--combiner` and `--calibration` take them. */
  combiner: z.string().min(1).optional(),
  calibration: z.string().min(1).optional(),
  min_confidence: z.number().min(0).max(1).optional(),
  /** Saved candidates in any format that import reads, instead of sampling. */
  candidates: Paths,
  /** Settings by their environment names, for this arm alone. */
  settings: z
    .record(
      z.string().regex(/^(BESTK_[A-Z0-9_]+|OPENAI_BASE_URL)$/, 'must be a setting such as BESTK_AGENT_FORMAT'),
      z.union([z.string(), z.number(), z.boolean()]).transform(String),
    )
    .default({}),
});
export type Arm = z.infer<typeof Arm>;

const Grading = z.strictObject({
  /** Of any data set; absent = the data set's own. */
  hidden_tests: z.string().min(1).optional(),
  time_limit_s: z.number().min(1).max(86_400).default(300),
  test_command: z.string().min(1).optional(),
  run_scripts: z.string().min(1).optional(),
});

/** `bench.yaml`: a data set, and the ways to solve it. */
export const BenchPlan = z.strictObject({
  title: z.string().min(1).max(200).optional(),
  /** `-` (standard input) is read once: such a benchmark is not resumed. */
  dataset: z.string().min(1),
  split: z.string().min(1).optional(),
  /** Templates of images' names. */
  image: z
    .union([
      z
        .string()
        .min(1)
        .transform((template) => [template]),
      z.array(z.string().min(1)),
    ])
    .default([]),
  filter: DataSetFilter.default(DataSetFilter.parse({})),
  /** The first is the user's own, the others are compared with it. */
  arms: z
    .array(Arm)
    .min(1)
    .refine((arms) => new Set(arms.map(({ name }) => name)).size === arms.length, 'two arms have the same name'),
  /** What everything together, and what each issue of an arm, may take. */
  budget: z
    .strictObject({
      tokens: z.int().positive().optional(),
      usd: z.number().positive().optional(),
      each: Budget.optional(),
    })
    .default({}),
  /** Instances under way at once. */
  concurrency: z.int().min(1).max(1024).default(4),
  /** Nothing more is begun after so many failures. */
  max_failures: z.int().min(1).optional(),
  /** Whether and how to grade; absent = where hidden tests are there. */
  grade: z.union([z.literal(false), Grading]).default(Grading.parse({})),
});
export type BenchPlan = z.infer<typeof BenchPlan>;

/** What the command line says is put over the file, in which paths are relative to its folder. @throws BadInputError */
export async function readPlan(file: string | undefined, said: Readonly<Record<string, unknown>>): Promise<BenchPlan> {
  const given = file === undefined ? {} : await readYaml(file);
  if (typeof given !== 'object' || given === null) throw new BadInputError('is no bench file.', { file });
  const plan = parsedPlan(file, { ...given, ...said });
  const base = file === undefined ? process.cwd() : dirname(resolve(file));
  const from = (member: string) => (path: string) =>
    path === '-' ? path : resolve(said[member] === undefined ? base : process.cwd(), path);
  return {
    ...plan,
    dataset: from('dataset')(plan.dataset),
    arms: plan.arms.map((arm) => placed(arm, from('arms'))),
    grade: plan.grade && placedGrading(plan.grade, from('grade')),
  };
}

function parsedPlan(file: string | undefined, given: object): BenchPlan {
  const parsed = BenchPlan.safeParse(given);
  if (parsed.success) return parsed.data;
  const [problem] = parsed.error.issues;
  throw new BadInputError(
    problem?.message ?? 'is wrong',
    { file, field: problem?.path.join('.') },
    'docs/bench.md tells what a bench file holds.',
  );
}

const FILES = ['tests', 'combiner', 'calibration'] as const;

function placed({ candidates, preset, ...arm }: Arm, at: (path: string) => string): Arm {
  const files = FILES.flatMap((name) => (arm[name] === undefined ? [] : [[name, at(arm[name])]]));
  const isFile = preset !== undefined && /\.(ya?ml|json)$/i.test(preset);
  return {
    ...arm,
    ...(Object.fromEntries(files) as Partial<Arm>),
    ...(preset === undefined ? {} : { preset: isFile ? at(preset) : preset }),
    ...(candidates === undefined ? {} : { candidates: candidates.map(at) }),
  };
}

function placedGrading(
  { hidden_tests, run_scripts, ...grading }: z.infer<typeof Grading>,
  at: (path: string) => string,
): z.infer<typeof Grading> {
  return {
    ...grading,
    ...(hidden_tests === undefined ? {} : { hidden_tests: at(hidden_tests) }),
    ...(run_scripts === undefined ? {} : { run_scripts: at(run_scripts) }),
  };
}

/** `bench.json` of a benchmark's folder: what it is, so that it can be taken up again. */
export const BenchState = z.object({
  kind: z.literal('bestk-bench'),
  id: z.string(),
  plan: BenchPlan,
  instances: z.array(z.string()),
  /** Hash of all that an arm's runs depend on, by its name. */
  keys: z.record(z.string(), z.string()),
});
export type BenchState = z.infer<typeof BenchState>;

export function newState(): Pick<BenchState, 'kind' | 'id' | 'keys'> {
  return { kind: 'bestk-bench', id: randomUUID(), keys: {} };
}

/** Null where no benchmark was begun. @throws BadInputError for one that cannot be read */
export async function readState(out: string): Promise<BenchState | null> {
  const file = join(out, 'bench.json');
  if (!existsSync(file)) return null;
  try {
    return BenchState.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    throw new BadInputError('is damaged or of another version.', { file }, 'Name another folder with --out.');
  }
}

/** @throws BadInputError where no benchmark was begun */
export async function requireState(out: string): Promise<BenchState> {
  const state = await readState(out);
  if (state !== null) return state;
  throw new BadInputError('holds no benchmark.', { file: out }, 'Name the --out of `bestk bench run`.');
}

export async function writeState(out: string, state: BenchState): Promise<void> {
  await writeWhole(join(out, 'bench.json'), `${JSON.stringify(state, null, 2)}\n`);
}

/** Where an arm's runs lie. */
export function armFolder(out: string, arm: string): string {
  return join(out, 'arms', arm);
}
