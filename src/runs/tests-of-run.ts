import type { Candidate } from '../core/run/candidate.js';
import type { GeneratedTest } from '../core/run/generated-test.js';
import type { Issue } from '../core/run/issue.js';
import type { Exclude, Inputs, Mend, Separate } from '../core/run/verifier.js';
import type { Emit, RunDependencies } from './run-dependencies.js';
import type { Harvest } from './score.js';

/**
 * Tests written for this run and taken from trajectories; none if there is no source of tests.
 * @throws like TestWriter.write
 */
export async function writtenTests(
  { testWriter, harvest }: RunDependencies,
  { issue, candidates }: { readonly issue: Issue; readonly candidates: readonly Candidate[] },
  emit: Emit,
  signal: AbortSignal,
): Promise<readonly GeneratedTest[]> {
  const harvested = harvest(candidates);
  if (testWriter === null && harvested.length === 0) return [];
  const written = await testWriter?.write(issue, signal);
  const { tests = [], unreadable = 0 } = written ?? {};
  await emit('tests-written', { tests: tests.length, unreadable, harvested: harvested.length });
  return [...tests, ...harvested];
}

/** What a run requests from the test writer during scoring; resulting tests are added to `tests`. */
export function testsMeanwhile(deps: RunDependencies, issue: Issue, tests: GeneratedTest[], emit: Emit): Meanwhile {
  return {
    mend: mending(deps, issue, tests, emit),
    separate: separating(deps, issue, tests, emit),
    inputs: observing(deps, issue, tests, emit),
    exclude: excluding(deps, issue, emit),
    harvest: harvesting(deps, issue, tests),
  };
}

interface Meanwhile {
  readonly mend?: Mend | undefined;
  readonly separate?: Separate | undefined;
  readonly inputs?: Inputs | undefined;
  readonly exclude?: Exclude | undefined;
  readonly harvest?: Harvest;
}

/** Adds the checks that a judge wrote to `tests`. */
function harvesting({ harvest }: RunDependencies, { instance_id }: Issue, tests: GeneratedTest[]): Harvest {
  return (candidate_id, steps) => {
    const trajectory = { steps: [...steps], exit_reason: null };
    const more = harvest([{ instance_id, candidate_id, patch: '', trajectory }]);
    tests.push(...more);
    return more;
  };
}

/** Asks the test writer for replacements of refused tests, and adds them to `tests`. */
function mending({ testWriter }: RunDependencies, issue: Issue, tests: GeneratedTest[], emit: Emit): Mend | undefined {
  if (testWriter === null) return undefined;
  return async (refused, signal) => {
    const more = await testWriter.mend(issue, refused, signal);
    tests.push(...more);
    await emit('tests-mended', { refused: refused.length, tests: more.length });
    return more;
  };
}

/** Asks the test writer for tests that separate two patches, and adds them to `tests`. */
function separating(
  { testWriter }: RunDependencies,
  issue: Issue,
  tests: GeneratedTest[],
  emit: Emit,
): Separate | undefined {
  if (testWriter === null) return undefined;
  return async (tied, signal) => {
    const separation = await testWriter.separate(issue, tied, signal);
    tests.push(...separation.tests);
    await emit('tests-separating', { tests: separation.tests.length, equivalent: separation.equivalent });
    return separation;
  };
}

/** Asks the test writer for observing tests, round by round, and adds them to `tests`. */
function observing(
  { testWriter }: RunDependencies,
  issue: Issue,
  tests: GeneratedTest[],
  emit: Emit,
): Inputs | undefined {
  if (testWriter?.observe === undefined) return undefined;
  return async (before, signal) => {
    const more = (await testWriter.observe?.(issue, before, signal)) ?? [];
    tests.push(...more);
    if (more.length > 0) await emit('tests-observing', { tests: more.length, round: before.round + 1 });
    return more;
  };
}

/** Asks the test writer which existing tests a right solution has to break. */
function excluding({ testWriter }: RunDependencies, issue: Issue, emit: Emit): Exclude | undefined {
  if (testWriter === null) return undefined;
  return async (tests, signal) => {
    const excluded = tests.length === 0 ? [] : await testWriter.exclude(issue, tests, signal);
    await emit('tests-excluded', { tests: [...excluded] });
    return excluded;
  };
}
