import type { Candidate } from '../../src/core/candidate.js';
import type { Observe } from '../../src/core/observe.js';
import type { Verdict, Measure } from '../../src/core/verdict.js';
import type { VerificationTask, Verifier } from '../../src/core/verifier.js';
import type { ResultStore } from '../../src/ports/result-store.js';
import type { Sandbox } from '../../src/ports/sandbox.js';
import { applicabilityJob } from './apply-patch.js';
import type { Bench } from './bench.js';
import { distinctPatches, type DistinctPatch } from './distinct.js';
import { abstained } from './outcomes.js';
import { runSuite } from './run-suite.js';
import { verifyRegression } from './verify-regression.js';
import { verifyReproduction } from './verify-reproduction.js';

export interface ExecutionBasedOptions {
  readonly sandbox: Sandbox;
  readonly results: ResultStore;
  readonly observe: Observe;
  /** Unguessable text of at least 32 lower-case letters and digits, new at every call. */
  readonly nonce: () => string;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

const MEASURES: readonly Measure[] = ['regression', 'reproduction'];

/**
 * The execution-based verifier: runs the repository's own tests and generated tests on every distinct patch, in fresh
 * containers. Candidates that change no source file, are refused, or do not apply abstain on both measures.
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
  const bench: Bench = { ...tools, issue: task.issue, imageId };
  const { patches, abstentions } = await applicable(bench, task.candidates, signal);
  const scores = await Promise.all([
    verifyReproduction(bench, task.tests, patches, observe, signal),
    verifyRegression(bench, patches, observe, signal),
  ]);
  return [...abstentions, ...scores.flat()];
}

async function applicable(
  bench: Bench,
  candidates: readonly Candidate[],
  signal: AbortSignal,
): Promise<{ patches: readonly DistinctPatch[]; abstentions: readonly Verdict[] }> {
  const { patches, unverifiable } = distinctPatches(candidates);
  const jobs = patches.map((patch) => ({ patch, job: applicabilityJob(bench, patch.source) }));
  const answers = await runSuite(
    bench,
    null,
    jobs.map(({ job }) => job),
    signal,
  );
  const refused = jobs.flatMap(({ patch, job }) => {
    const answer = answers.get(job.key);
    return answer === undefined || answer.applies ? [] : [{ patch, detail: answer.detail }];
  });
  const rejected = new Set(refused.map(({ patch }) => patch));
  const abstentions = MEASURES.flatMap((measure) => [
    ...unverifiable.flatMap(({ candidateId, reason, detail }) =>
      abstained([{ candidateIds: [candidateId] }], measure, reason, detail),
    ),
    ...refused.flatMap(({ patch, detail }) => abstained([patch], measure, 'does-not-apply', detail)),
  ]);
  return { patches: patches.filter((patch) => !rejected.has(patch)), abstentions };
}
