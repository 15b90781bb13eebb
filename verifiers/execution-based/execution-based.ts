import { z } from 'zod';
import type { CellJob } from '../../src/core/run/generated-test.js';
import type { Admission, Observe, VerificationTask, Verifier } from '../../src/core/run/verifier.js';
import { type Observations, REGRESSION, REPRODUCTION, type Verdict } from '../../src/core/run/verdict.js';
import {
  type Applicable,
  splitByApplicability,
  type Unverifiable,
  type Verifiable,
  verifiablePatches,
} from './tree/applicability.js';
import { setFilesOfImageApart } from './tree/files-of-the-image.js';
import { TreeSessions } from './tree/tree-sessions.js';
import { type ExecutionContext, REGRESSION_S, abstained, Bytecode } from './execution-context.js';
import { verifyRegression } from './existing/verify-regression.js';
import { verifyReproduction } from './generated/verify-reproduction.js';
import { regressionOn } from './existing/regression-set.js';
import { observed } from './generated/observations.js';
import { runTests } from './generated/run-generated-tests.js';

export interface ExecutionBasedOptions extends Omit<
  ExecutionContext,
  'issue' | 'imageId' | 'bytecode' | 'regressionS'
> {
  readonly observe: Observe;
  /** Absent = REGRESSION_S. */
  readonly regressionS?: number | undefined;
}

const MEASURES = [REGRESSION, REPRODUCTION];

/**
 * The execution-based verifier: runs the repository's own tests and generated tests on every distinct patch, in fresh
 * containers. Candidates whose patch changes no source file, is refused or does not apply abstain on both measures.
 */
export function createExecutionBasedVerifier(options: ExecutionBasedOptions): Verifier {
  return {
    name: 'execution-based',
    measures: MEASURES,
    verify: (task, signal) => verify(options, task, signal),
  };
}

async function verify(
  options: ExecutionBasedOptions,
  task: VerificationTask,
  signal: AbortSignal,
): Promise<readonly Verdict[]> {
  const { observe, ...tools } = options;
  const { id: imageId } = await options.sandbox.describeImage(task.issue.environment.image, signal);
  const { regressionS = REGRESSION_S } = options;
  const bytecode = new Bytecode(options.nonce);
  const context: ExecutionContext = { ...tools, issue: task.issue, imageId, bytecode, regressionS };
  const { verifiable, unverifiable } = verifiablePatches(task.candidates, task.issue.problem_statement);
  if (verifiable.length === 0) return unverifiable.flatMap(abstainOnBoth);
  // Runs on base need no applicability, so both begin at once; regression on base first, since its bytecode speeds up
  // the rest.
  const applicable = findPatchesToExecute(context, verifiable, signal);
  const [asked, shown] = [false, true].map((observes) =>
    task.tests.filter((test) => (test.observes === true) === observes),
  );
  const [ofAsked, ofShown] = admittedApart(observe);
  const [{ rejected, syntax, repaired, setApart }, seen, ...scores] = await Promise.all([
    applicable,
    observed(context, { tests: shown ?? [], applicable, inputs: task.inputs }, ofShown, signal),
    verifyRegression(context, { applicable, exclude: task.exclude }, observe, signal),
    verifyReproduction(context, { ...task, tests: asked ?? [], applicable }, ofAsked, signal),
  ]);
  const executed = withoutForgers(scores.flat()).map((verdict): Verdict => {
    const form = verdict.measure === REPRODUCTION.name ? repaired.get(verdict.candidate_id) : undefined;
    const known = syntax.get(verdict.candidate_id);
    const apart = setApart.get(verdict.candidate_id);
    const facts = {
      ...(form !== undefined && { applied_as: form }),
      ...(known !== undefined && { syntax: known }),
      ...(apart !== undefined && { set_apart: apart }),
    };
    return { ...verdict, evidence: { ...verdict.evidence, ...facts, ...observationsOf(verdict, seen) } };
  });
  return [...unverifiable.flatMap(abstainOnBoth), ...rejected, ...executed];
}

function observationsOf(
  { measure, candidate_id }: Verdict,
  seen: ReadonlyMap<string, Observations>,
): { readonly observations?: z.infer<ReturnType<typeof z.json>> } {
  const own = measure === REPRODUCTION.name ? seen.get(candidate_id) : undefined;
  return own === undefined ? {} : { observations: z.json().parse(own) };
}

/** Two callbacks for suites that admit tests concurrently; each report to `observe` contains the admissions of both. */
function admittedApart(observe: Observe): readonly [Observe, Observe] {
  const lists: [readonly Admission[], readonly Admission[]] = [[], []];
  const part = (index: 0 | 1): Observe => ({
    cell: (cell) => observe.cell(cell),
    existing: (tests) => observe.existing(tests),
    admission: (admissions) => {
      lists[index] = [...admissions];
      return observe.admission(lists.flat());
    },
  });
  return [part(0), part(1)];
}

/** A candidate that forged the outcomes of one suite abstains on both measures. */
function withoutForgers(verdicts: readonly Verdict[]): readonly Verdict[] {
  const forged = verdicts.flatMap((verdict) =>
    verdict.kind === 'abstained' && verdict.reason === 'forged' ? [[verdict.candidate_id, verdict] as const] : [],
  );
  const proofs = new Map(forged);
  return verdicts.map((verdict) => {
    const proof = proofs.get(verdict.candidate_id);
    return proof === undefined ? verdict : { ...proof, measure: verdict.measure };
  });
}

/** The patches that apply, without files of the image; verdicts for the others, and what was set apart by candidate. */
async function findPatchesToExecute(
  context: ExecutionContext,
  verifiable: readonly Verifiable[],
  signal: AbortSignal,
): Promise<Applicable & { readonly setApart: ReadonlyMap<string, string[]> }> {
  await using sessions = new TreeSessions(context, { tree: null, user: 'image', writes: [] }, signal);
  const applicable = await splitByApplicability(context, verifiable, sessions, signal);
  const { patches, unverifiable, setApart } = await setFilesOfImageApart(context, applicable.patches, sessions, signal);
  return {
    ...applicable,
    patches,
    rejected: [...unverifiable.flatMap(abstainOnBoth), ...applicable.rejected],
    setApart,
  };
}

function abstainOnBoth({ candidateId, reason, detail }: Unverifiable): Verdict[] {
  return MEASURES.flatMap(({ name }) => abstained([{ candidateIds: [candidateId] }], name, reason, detail));
}

/**
 * Executes the cell jobs of other processes here and stores their results. Bytecode of the image's own code is reused
 * from job to job, as in a verifier.
 */
export function createCellWorker(
  options: Omit<ExecutionBasedOptions, 'observe' | 'remote'>,
): (job: CellJob, signal: AbortSignal) => Promise<void> {
  const bytecode = new Bytecode(options.nonce);
  return async ({ instance_id, environment, tests, ...place }, signal) => {
    const { id: imageId } = await options.sandbox.describeImage(environment.image, signal);
    const issue = { instance_id, problem_statement: '', environment };
    const context: ExecutionContext = { ...options, issue, imageId, bytecode, regressionS: REGRESSION_S };
    if (tests !== null) await runTests(context, place, tests, signal);
    else await regressionOn(context, environment.regression_command ?? '', place, signal);
  };
}
