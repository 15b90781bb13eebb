import type { GeneratedTest } from '../core/generated-test.js';
import type { Issue } from '../core/issue.js';
import type { Emit } from './run-executor.js';
import type { RunKit } from './run-kit.js';

/** Tests written for this run, none when nobody writes any. @throws as TestWriter.write */
export async function writtenTests(
  { testWriter }: RunKit,
  issue: Issue,
  emit: Emit,
  signal: AbortSignal,
): Promise<readonly GeneratedTest[]> {
  if (testWriter === null) return [];
  const { tests, unreadable } = await testWriter.write(issue, signal);
  await emit('tests-written', { tests: tests.length, unreadable });
  return tests;
}
