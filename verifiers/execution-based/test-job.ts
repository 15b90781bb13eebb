import { z } from 'zod';
import { CellOutcome } from '../../src/core/cell.js';
import { contentKey, sha256 } from '../../src/core/fingerprint.js';
import type { GeneratedTest } from '../../src/core/generated-test.js';
import { benchKey, type Bench, type Tree } from './bench.js';
import { PYTHON_TEST_RUNNER } from './python-test-runner.js';
import type { Job } from './job.js';
import { runTest, type TestRun } from './run-test.js';
import { SUITE_ENV } from './suite-environment.js';

const StoredTestRun = z.object({
  outcome: CellOutcome,
  exit_code: z.int().nullable(),
  duration_ms: z.number(),
  log_tail: z.string(),
});
const RUNNER = sha256(PYTHON_TEST_RUNNER);

/** One generated test on one tree; `repeat` separates the two runs on base. */
export function testJob(bench: Bench, tree: Tree, test: GeneratedTest, repeat: number): Job<TestRun> {
  const { workdir, test_timeout_s } = bench.issue.environment;
  return {
    key: contentKey({
      kind: 'test',
      ...benchKey(bench),
      runner: RUNNER,
      env: SUITE_ENV,
      tree,
      test: test.content,
      repeat,
    }),
    kind: 'test',
    schema: StoredTestRun,
    closesSession: ({ outcome }) => outcome.startsWith('timed') || outcome.startsWith('out-of'),
    run: (session, signal) => runTest(session, test, { workdir, timeoutS: test_timeout_s, nonce: bench.nonce }, signal),
  };
}
