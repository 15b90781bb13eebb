import { z } from 'zod';
import { PRESET_NAMES } from '../../verifiers/hybrid/presets.js';
import { RunConflictError } from '../core/errors/errors.js';
import { candidateOf } from '../core/run/rollout.js';
import { GivenRule, RunRequest } from '../core/run/run-request.js';
import { RunResult } from '../core/run/run-result.js';
import { VerifierName } from '../core/run/verifier.js';
import type { Run } from '../ports/run-store.js';

/** What another run of the same candidates and tests does differently; what is not said stays as it was. */
export const RescoreRun = z.strictObject({
  ...GivenRule.partial().shape,
  verifiers: z.array(VerifierName).min(1).optional(),
});
export type RescoreRun = z.infer<typeof RescoreRun>;

/**
 * A request that verifies and selects among the candidates of a run again, with the tests it had; what was executed
 * before is found in the store. Budgets are not taken over.
 * @throws RunConflictError when the run has no candidates (yet)
 */
export function rescoreRun(run: Run, change: RescoreRun): Run['request'] {
  const { issue, preset, stages, combiner, calibration, min_confidence, verifiers, ...request } = RunRequest.parse(
    run.request,
  );
  const rule = { combiner, calibration, min_confidence, ...(change.preset === undefined ? { preset, stages } : {}) };
  const result = run.result === null ? null : RunResult.parse(run.result);
  const candidates = request.candidates ?? result?.rollouts.map(candidateOf) ?? [];
  if (candidates.length === 0) {
    throw new RunConflictError(
      `Run "${run.id}" has no candidates to score.`,
      'Wait until it is done, or start a new run of the same issue.',
    );
  }
  const tests = request.tests ?? writtenFor(result);
  return z.json().parse({ issue, candidates, tests, ...rule, verifiers, ...change });
}

/** Null when there are none: they are then asked for again. */
function writtenFor(result: RunResult | null): RunResult['tests'] | null {
  return result === null || result.tests.length === 0 ? null : result.tests;
}

/** Names of the selection rules that need nothing but verdicts; `learned` needs a combiner beside it. */
export function presetsForRuns(): readonly string[] {
  return PRESET_NAMES.filter((name) => name !== 'learned');
}
