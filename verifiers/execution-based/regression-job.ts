import { z } from 'zod';
import { contentKey, sha256 } from '../../src/core/fingerprint.js';
import { benchKey, type Bench, type Tree } from './bench.js';
import { PYTHON_SITE_CUSTOMIZE, PYTHON_TEST_PROBE } from './python-test-probe.js';
import { runRegression, type RegressionRun } from './run-regression.js';
import type { Job } from './job.js';
import { SUITE_ENV } from './suite-environment.js';

const StoredRegressionRun = z.object({
  outcome: z.enum(['exited', 'timed-out', 'out-of-memory', 'out-of-disk']),
  exit_code: z.int().nullable(),
  duration_ms: z.number(),
  passed: z.array(z.string()),
  failed: z.array(z.string()),
  skipped: z.array(z.string()),
  log_tail: z.string(),
});
const PROBE = sha256(PYTHON_TEST_PROBE + PYTHON_SITE_CUSTOMIZE);

/** The instance's regression command on one tree; `repeat` separates the two runs on base. */
export function regressionJob(bench: Bench, command: string, tree: Tree, repeat: number): Job<RegressionRun> {
  const environment = { ...bench.issue.environment, regression_command: command };
  return {
    key: contentKey({
      kind: 'regression',
      ...benchKey(bench),
      probe: PROBE,
      env: SUITE_ENV,
      tree,
      command,
      files: environment.regression_files,
      repeat,
    }),
    kind: 'regression',
    schema: StoredRegressionRun,
    closesSession: ({ outcome }) => outcome !== 'exited',
    run: (session, signal) => runRegression(session, environment, bench.nonce, signal),
  };
}
