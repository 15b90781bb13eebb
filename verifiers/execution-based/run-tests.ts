import { contentKey, sha256 } from '../../src/core/fingerprint.js';
import type { GeneratedTest } from '../../src/core/generated-test.js';
import { benchKey, type Bench, type TreeRun } from './bench.js';
import { PYTHON_SUITE_DRIVER } from './python-suite-driver.js';
import { runBatch, TestRun, type Keep } from './run-batch.js';
import { SUITE_ENV } from './suite-environment.js';
import { TreeSessions } from './tree-sessions.js';

const DRIVER = sha256(PYTHON_SUITE_DRIVER);

/**
 * Runs generated tests on one tree, in order, in one fresh container, or more where a test spoils it. Stored results cost
 * nothing; when all are stored no container is started. Each run is stored when its test has ended.
 * @returns runs by test id
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function runTests(
  bench: Bench,
  place: TreeRun,
  tests: readonly GeneratedTest[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TestRun>> {
  const runs = new Map<string, TestRun>();
  for (const test of tests) {
    const stored = TestRun.safeParse(await bench.results.get(testKey(bench, place, test)));
    if (stored.success) runs.set(test.test_id, stored.data);
  }
  const keep: Keep = async (test, run) => {
    runs.set(test.test_id, run);
    await bench.results.put(testKey(bench, place, test), 'test', run);
  };
  const waiting = (): GeneratedTest[] => tests.filter(({ test_id }) => !runs.has(test_id));
  await using sessions = new TreeSessions(bench, place.tree, signal);
  while (waiting().length > 0) {
    const { reusable } = await sessions.use((session) => runBatch(session, { bench, tests: waiting() }, keep, signal));
    if (!reusable) await sessions.discard();
  }
  return runs;
}

function testKey(bench: Bench, { tree, repeat }: TreeRun, test: GeneratedTest): string {
  return contentKey({
    kind: 'test',
    ...benchKey(bench),
    driver: DRIVER,
    env: SUITE_ENV,
    tree,
    test: test.content,
    repeat,
  });
}
