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

/** What verifiers are given. Labels have no place here, by type. */
export interface VerificationTask {
  readonly issue: Issue;
  readonly candidates: readonly Candidate[];
  readonly tests: readonly GeneratedTest[];
  /** What tests said, for a verifier that comes after them. */
  readonly observed?: readonly Verdict[] | undefined;
  /** Asked at most once, for tests that tell the two leading patches apart when the others do not. */
  readonly separate?: Separate | undefined;
  /** Asked at most once, for tests in the place of those that base refused. */
  readonly mend?: Mend | undefined;
  /** Asked for tests that observe, round by round, until the candidates' classes split no more; absent = nobody is. */
  readonly inputs?: Inputs | undefined;
  /** Asked once, about the existing tests that pass on base. */
  readonly exclude?: Exclude | undefined;
  /** Candidates whose agents were told of others; absent = none. */
  readonly told?: ReadonlySet<string> | undefined;
  /** Told how a verifier of the phase before tests worked; its checks may become tests. Absent = none are taken. */
  readonly found?: Found | undefined;
}

/** @param author of what the steps wrote */
export type Found = (author: string, steps: readonly TrajectoryStep[]) => void;

/** Tests that observe; none ends the rounds. */
export type Inputs = (before: ObservedBefore, signal: AbortSignal) => Promise<readonly GeneratedTest[]>;
/** Of existing tests those that a right solution has to break. */
export type Exclude = (tests: readonly string[], signal: AbortSignal) => Promise<readonly string[]>;
export type Mend = (refused: readonly RefusedTest[], signal: AbortSignal) => Promise<readonly GeneratedTest[]>;
export type Separate = (tied: TiedPatches, signal: AbortSignal) => Promise<Separation>;

/**
 * Scores the whole candidate set at once, so that a tournament, a matrix and a judge of one share one contract.
 * Gives at least one verdict for every candidate and declared measure; throws only for errors that end the run.
 */
export interface Verifier {
  readonly name: string;
  /** The measures that it gives, declared here and nowhere else. */
  readonly measures: readonly Measure[];
  /** Whether it needs what tests said (`observed`), or what it finds may become tests; absent = it works beside them. */
  readonly phase?: 'before-tests' | 'after-tests';
  verify(task: VerificationTask, signal: AbortSignal): Promise<readonly Verdict[]>;
}

/** Ways to judge without tests; each is one line in `verifiers/index.ts`. */
export const JUDGE_METHODS = ['yes-no', 'rubric', 'pairwise', 'pairs', 'agent', 'backward', 'critic'] as const;
export type JudgeMethod = (typeof JUDGE_METHODS)[number];

/** A model may hold any visible character but commas. */
const NAME = new RegExp(`^(?:eb|ef(?::(${JUDGE_METHODS.join('|')}))?(?:@([!-+\\--~]+))?)$`);
/** Of a verifier from a module of the user's; whether there is such a module is checked with the request. */
const OWN_NAME = /^(?!none$)[a-z][a-z0-9-]{2,63}$/;

/**
 * Names of the wire: `eb` execution-based; `ef` execution-free by a yes or no, `ef:METHOD` in the named way, either with
 * `@MODEL` by another model than BESTK_VERIFIER_MODEL; any other name is that of a module in BESTK_VERIFIERS.
 */
export const VerifierName = z
  .string()
  .max(190)
  .regex(
    new RegExp(`${NAME.source}|${OWN_NAME.source}`),
    `is no verifier: eb, ef or ef:METHOD, METHOD one of ${JUDGE_METHODS.join(', ')}, and @MODEL behind it, or the name of a verifier in BESTK_VERIFIERS`,
  );
export type VerifierName = z.infer<typeof VerifierName>;

/** The names without a model. */
export const VERIFIER_NAMES: readonly VerifierName[] = ['ef', ...JUDGE_METHODS.map((method) => `ef:${method}`), 'eb'];

/** The name of a module in BESTK_VERIFIERS. */
export const OwnVerifierName = z
  .string()
  .regex(OWN_NAME, 'must be 3 to 64 lower-case letters, digits and hyphens, beginning with a letter');

/** The method and model that a name asks with; a model of null is the settings'. Null for what is no judge. */
export function judgeNamed(name: VerifierName): { readonly method: JudgeMethod; readonly model: string | null } | null {
  const found = NAME.exec(name);
  if (found === null || name === 'eb') return null;
  const [, named, model = null] = found;
  return { method: JUDGE_METHODS.find((method) => method === named) ?? 'yes-no', model };
}

/** Whether a verifier is an execution-free one, in whichever way. */
export function isJudge(name: VerifierName): boolean {
  return judgeNamed(name) !== null;
}

/** What is known of candidates before they are judged. */
export interface JudgedPool {
  /** Candidates with a patch. */
  readonly patches: Range;
  readonly distinct: Range;
  /** Whether there are records of the agents' work. */
  readonly records: boolean;
}

/** How often a judge asks about a pool, and tokens of one call. */
export interface JudgeCalls {
  readonly calls: Range;
  readonly prompt: Range;
  readonly answer: Range;
}

/** Whether a generated test takes part in the verification, and why not. */
export const Admission = z.object({
  test_id: z.string(),
  admitted: z.boolean(),
  /** Null when admitted. */
  reason: z.string().nullable(),
  /** What it came to on base; absent where it was not run. */
  kind: CellKind.exactOptional(),
});
export type Admission = z.infer<typeof Admission>;

/** What bestk itself recognised and chose of a repository's tests, where the issue leaves it open. */
export interface ExistingTests {
  /** Null where the issue names the command. */
  readonly runner: string | null;
  readonly command: string;
  readonly files: readonly string[];
  /** Tests that reach a function that a patch changes; null when nothing tells. */
  readonly reaching: number | null;
  /** Of one run of the files on base; null when nothing tells. */
  readonly base_seconds: number | null;
  /** That choosing took. */
  readonly seconds: number;
}

/** Who is asked what for. */
export interface ModelCall {
  readonly purpose: string;
  readonly model: string;
}

/** Told of each intermediate result when it exists; what verifiers report beside their verdicts. */
export interface Observe {
  cell(cell: Cell): Promise<void>;
  admission(admissions: readonly Admission[]): Promise<void>;
  existing(tests: ExistingTests): Promise<void>;
  /** A model is asked. @returns to be called when that has ended */
  call?(call: ModelCall): () => void;
}
