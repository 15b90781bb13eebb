import type { CellJob, GeneratedTest } from '../../../src/core/run/generated-test.js';
import type { ExecutionContext, TreeRun } from '../execution-context.js';

/** What is to be executed on a tree, as others get it; tests null = the regression command. */
export function cellJob(
  { issue }: Pick<ExecutionContext, 'issue'>,
  { tree, repeat }: TreeRun,
  tests: readonly GeneratedTest[] | null,
): CellJob {
  const { instance_id, environment } = issue;
  return { instance_id, environment, tree, repeat, tests: tests === null ? null : [...tests] };
}
