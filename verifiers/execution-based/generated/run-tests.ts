import { contentKey } from '../../../src/core/fingerprint.js';
import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import { asSuite, contextKey, type ExecutionContext, type TreeRun } from '../execution-context.js';
import { cellJob } from './cell-job.js';
import { runBatch, TestRun, type Batch, type Keep } from './run-batch.js';
import { SUITE_ENV } from '../drivers/environment.js';
import { dialectOf } from '../drivers/test-dialect.js';
import { TreeSessions } from '../tree/tree-sessions.js';

/**
 * Runs generated tests on one tree, in order, in a fresh container for each language, or more where a test spoils it: what
 * ran in one may have broken anything in it. Stored results cost nothing; when all are stored no container is started.
 * Each run is stored when its test has ended.
 * @returns runs by test id
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function runTests(
  context: ExecutionContext,
  place: TreeRun,
  tests: readonly GeneratedTest[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, TestRun>> {
  const runs = new Map<string, TestRun>();
  await takeStored(context, place, tests, runs);
  const missing = tests.filter((test) => !runs.has(test.test_id) && dialectOf(test) !== null);
  if (context.remote !== undefined && missing.length > 0) {
    await context.remote(cellJob(context, place, missing), signal);
    await takeStored(context, place, missing, runs);
  }
  const keep: Keep = async (test, run) => {
    runs.set(test.test_id, run);
    await context.results.put(testKey(context, place, test), 'test', run);
  };
  const next = (): Omit<Batch, 'context'> | null => nextBatch(tests.filter(({ test_id }) => !runs.has(test_id)));
  if (next() === null) return runs;
  return asSuite(context, 'reproduction', place, async () => {
    await using sessions = new TreeSessions(context, place.tree, signal);
    while (next() !== null) {
      // Asked for anew in each attempt: what a lost sandbox had reported is not run again.
      await sessions.use(async (session) => {
        const batch = next();
        if (batch !== null) await runBatch(session, { context, ...batch }, keep, signal);
      });
      await sessions.discard();
    }
    return runs;
  });
}

async function takeStored(
  context: ExecutionContext,
  place: TreeRun,
  tests: readonly GeneratedTest[],
  runs: Map<string, TestRun>,
): Promise<void> {
  for (const test of tests) {
    const stored = TestRun.safeParse(await context.results.get(testKey(context, place, test)));
    if (stored.success) runs.set(test.test_id, stored.data);
  }
}

/** The tests that wait, of the language of the first; those of none are not run. */
function nextBatch(waiting: readonly GeneratedTest[]): Omit<Batch, 'context'> | null {
  const dialect = waiting.map(dialectOf).find((each) => each !== null);
  if (dialect === undefined) return null;
  return { dialect, tests: waiting.filter((test) => dialectOf(test) === dialect) };
}

function testKey(context: ExecutionContext, { tree, repeat }: TreeRun, test: GeneratedTest): string {
  return contentKey({
    kind: 'test',
    ...contextKey(context),
    driver: dialectOf(test)?.hash ?? null,
    env: SUITE_ENV,
    tree,
    test: test.content,
    repeat,
  });
}
