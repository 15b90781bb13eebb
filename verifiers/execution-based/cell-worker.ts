import type { CellJob } from '../../src/core/run/generated-test.js';
import { type ExecutionContext, REGRESSION_S } from './execution-context.js';
import { Bytecode } from './tree/bytecode.js';
import type { ExecutionBasedOptions } from './execution-based.js';
import { regressionOn } from './existing/regression-set.js';
import { runTests } from './generated/run-tests.js';

/**
 * Does jobs of one run here, and stores their results. What the image's own code was compiled to passes from one to the
 * next, as in a verifier.
 */
export function createCellWorker(
  options: Omit<ExecutionBasedOptions, 'observe' | 'remote'>,
): (job: CellJob, signal: AbortSignal) => Promise<void> {
  const bytecode = new Bytecode(options.nonce);
  return async ({ instance_id, environment, tree, repeat, tests }, signal) => {
    const { id: imageId } = await options.sandbox.describeImage(environment.image, signal);
    const issue = { instance_id, problem_statement: '', environment };
    const context: ExecutionContext = { ...options, issue, imageId, bytecode, regressionS: REGRESSION_S };
    if (tests !== null) await runTests(context, { tree, repeat }, tests, signal);
    else await regressionOn(context, environment.regression_command ?? '', { tree, repeat }, signal);
  };
}
