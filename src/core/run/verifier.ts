import { z } from 'zod';
import type { Range } from '../budget/budget.js';
import type { Candidate, TrajectoryStep } from './candidate.js';
import {
  type Cell,
  CellKind,
  type GeneratedTest,
  type RefusedTest,
  type ObservedBefore,
  type Separation,
  type TiedPatches,
} from './generated-test.js';
import type { Issue } from './issue.js';
import type { Measure, Verdict } from './verdict.js';

/** Input of verifiers. By its type it cannot contain labels. */
export interface VerificationTask {
  readonly issue: Issue;
  readonly candidates: readonly Candidate[];
  readonly tests: readonly GeneratedTest[];
  /** Results of the tests, for a verifier that runs after them. */
  readonly observed?: readonly Verdict[] | undefined;
  /** Called at most once, for tests that tell the two leading patches apart when the others do not. */
  readonly separate?: Separate | undefined;
  /** Called at most once, for replacements of tests that were refused on base. */
  readonly mend?: Mend | undefined;
  /** Called for observing tests, in rounds, until the candidates' classes stop splitting; absent = none are written. */
  readonly inputs?: Inputs | undefined;
  /** Called once, about the existing tests that pass on base. */
  readonly exclude?: Exclude | undefined;
  /** Candidates whose prompts described others; absent = none. */
  readonly told?: ReadonlySet<string> | undefined;
  /** Receives the steps of a verifier of the phase before tests; its checks may become tests. Absent = ignored. */
  readonly found?: Found | undefined;
}

/** @param author author of what the steps wrote */
export type Found = (author: string, steps: readonly TrajectoryStep[]) => void;

/** Returns observing tests; an empty list ends the rounds. */
export type Inputs = (before: ObservedBefore, signal: AbortSignal) => Promise<readonly GeneratedTest[]>;
/** Of the existing tests, those that a right solution must break. */
export type Exclude = (tests: readonly string[], signal: AbortSignal) => Promise<readonly string[]>;
export type Mend = (refused: readonly RefusedTest[], signal: AbortSignal) => Promise<readonly GeneratedTest[]>;
export type Separate = (tied: TiedPatches, signal: AbortSignal) => Promise<Separation>;

/**
 * Scores the whole candidate set at once, so that a tournament, a matrix and a pointwise judge share one contract.
 * Gives at least one verdict for every candidate and declared measure; throws only for errors that end the run.
 */
export interface Verifier {
  readonly name: string;
  /** The measures that it gives, declared only here. */
  readonly measures: readonly Measure[];
  /** `after-tests` needs `observed`; findings of `before-tests` may become tests; absent = runs alongside the tests. */
  readonly phase?: 'before-tests' | 'after-tests';
  verify(task: VerificationTask, signal: AbortSignal): Promise<readonly Verdict[]>;
}

/** Ways to judge without tests; each is one line in `verifiers/index.ts`. */
export const JUDGE_METHODS = ['yes-no', 'rubric', 'pairwise', 'pairs', 'agent', 'backward', 'critic'] as const;
export type JudgeMethod = (typeof JUDGE_METHODS)[number];

/** A model name may contain any visible character except a comma. */
const NAME = new RegExp(`^(?:eb|ef(?::(${JUDGE_METHODS.join('|')}))?(?:@([!-+\\--~]+))?)$`);
/** Name of a user's verifier module; whether the module exists is checked with the request. */
const OWN_NAME = /^(?!none$)[a-z][a-z0-9-]{2,63}$/;

/**
 * Names on the wire: `eb` execution-based; `ef` execution-free by a yes/no question, `ef:METHOD` by the named method,
 * either with `@MODEL` to use another model than BESTK_VERIFIER_MODEL; any other name is a module in BESTK_VERIFIERS.
 */
export const VerifierName = z
  .string()
  .max(190)
  .regex(
    new RegExp(`${NAME.source}|${OWN_NAME.source}`),
    `is not a verifier: use eb, ef, ef:METHOD or ef:METHOD@MODEL with METHOD one of ${JUDGE_METHODS.join(', ')}, or the name of a verifier in BESTK_VERIFIERS`,
  );
export type VerifierName = z.infer<typeof VerifierName>;

/** The names without a model. */
export const VERIFIER_NAMES: readonly VerifierName[] = ['ef', ...JUDGE_METHODS.map((method) => `ef:${method}`), 'eb'];

/** The name of a module in BESTK_VERIFIERS. */
export const OwnVerifierName = z
  .string()
  .regex(OWN_NAME, 'must be 3 to 64 lower-case letters, digits and hyphens, beginning with a letter');

/** The method and model of a judge's name; a null model is the configured one. Null if the name is not a judge's. */
export function judgeNamed(name: VerifierName): { readonly method: JudgeMethod; readonly model: string | null } | null {
  const found = NAME.exec(name);
  if (found === null || name === 'eb') return null;
  const [, named, model = null] = found;
  return { method: JUDGE_METHODS.find((method) => method === named) ?? 'yes-no', model };
}

/** Whether a verifier is execution-free, by any method. */
export function isJudge(name: VerifierName): boolean {
  return judgeNamed(name) !== null;
}

/** What is known about candidates before they are judged. */
export interface JudgedPool {
  /** Candidates with a patch. */
  readonly patches: Range;
  readonly distinct: Range;
  /** Whether there are trajectories. */
  readonly records: boolean;
}

/** Calls that a judge makes for a pool, and tokens per call. */
export interface JudgeCalls {
  readonly calls: Range;
  readonly prompt: Range;
  readonly answer: Range;
}

/** Whether a generated test is admitted to the verification, and why not. */
export const Admission = z.object({
  test_id: z.string(),
  admitted: z.boolean(),
  /** Null when admitted. */
  reason: z.string().nullable(),
  /** The kind of its outcome on base; absent if it was not run. */
  kind: CellKind.exactOptional(),
});
export type Admission = z.infer<typeof Admission>;

/** What bestk detected and chose among a repository's tests, as far as the issue does not specify it. */
export interface ExistingTests {
  /** Null if the issue gives the command. */
  readonly runner: string | null;
  readonly command: string;
  readonly files: readonly string[];
  /** Tests that reach a function that a patch changes; null if unknown. */
  readonly reaching: number | null;
  /** Seconds of one run of the files on base; null if unknown. */
  readonly base_seconds: number | null;
  /** Seconds spent on choosing. */
  readonly seconds: number;
}

/** The purpose and model of a call. */
export interface ModelCall {
  readonly purpose: string;
  readonly model: string;
}

/** Receives each intermediate result as soon as it exists; what verifiers report besides their verdicts. */
export interface Observe {
  cell(cell: Cell): Promise<void>;
  admission(admissions: readonly Admission[]): Promise<void>;
  existing(tests: ExistingTests): Promise<void>;
  /** Called when a model call begins. @returns a function to call when it ends */
  call?(call: ModelCall): () => void;
}
