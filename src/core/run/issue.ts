import { z } from 'zod';
import { argument, identifier, wholeText } from '../identifier.js';
import { ImageReference } from './image-reference.js';

/** Characters; models are shown far fewer. */
const LONGEST_STATEMENT = 1_000_000;
const MOST_FILES = 10_000;
/** Linux takes no longer path. */
const path = () => argument().max(4_096, { abort: true });

function isBelowRoot(name: string): boolean {
  const parts = name.split('/').filter(Boolean);
  return parts.length > 0 && !parts.includes('..');
}

/** Where an instance's repository lives and how its existing tests are run. */
export const Environment = z.strictObject({
  image: ImageReference,
  workdir: argument().startsWith('/', 'must be an absolute path').default('/testbed'),
  /** Commit to check out before history is stripped; null = the image's own HEAD. */
  base_commit: z
    .string()
    .regex(/^[0-9a-fA-F]{7,64}$/, 'must be a commit hash')
    .nullish()
    .transform((commit) => commit ?? null),
  /** Shell command; `{files}` is replaced by the quoted regression files, `{modules}` by their dotted names; none = those near the patches. */
  regression_command: argument()
    .nullish()
    .transform((command) => command ?? null),
  /** JUnit XML that the command writes, from the working directory; for runners that are not Python's. */
  regression_report: path()
    .nullish()
    .transform((path) => path ?? null),
  regression_files: z.array(path()).max(MOST_FILES).default([]),
  /** Limit in seconds of one test, and of one run of the regression command. */
  test_timeout_s: z.number().positive().max(86_400).default(300),
  /** Git patch that makes the base of what the image holds, where the image has the repository before that. */
  setup_patch: wholeText()
    .max(100_000)
    .nullish()
    .transform((patch) => patch ?? null),
  /** Files and folders of the image that hold hidden tests or answers: removed before anything runs, but for grading. */
  hidden_paths: z.array(path().refine(isBelowRoot, 'must be a path below a root')).max(MOST_FILES).default([]),
});
export type Environment = z.infer<typeof Environment>;

/** One instance: a problem statement and the environment in which a patch for it is verified. */
export const Issue = z.object({
  instance_id: identifier(512),
  problem_statement: wholeText().max(LONGEST_STATEMENT),
  environment: Environment,
});
export type Issue = z.infer<typeof Issue>;

/** `sympy__sympy-24066` is of `sympy/sympy`; null for an id of another shape. */
export function repositoryOf(instanceId: string): string | null {
  const owner = instanceId.indexOf('__', 1);
  const number = instanceId.lastIndexOf('-');
  const isOne = owner !== -1 && number > owner + 2 && number < instanceId.length - 1;
  return isOne ? `${instanceId.slice(0, owner)}/${instanceId.slice(owner + 2, number)}` : null;
}
