import type { Gradable } from '../../benchmarks/grade-arms.js';
import type { Candidate } from '../../core/run/candidate.js';
import type { CandidateGrade } from '../../grading/grade-candidates.js';
import { hiddenTests } from '../../grading/hidden-tests.js';
import { GradeFiles, type GradedInstance } from '../../reports/grades.js';
import type { App } from '../command.js';
import { gradeByPlan } from './bench-grade.js';
import { answersOf, chosenInstances } from './bench-options.js';
import type { BenchPlan } from './bench-plan.js';

/** A problem with an instance of a data set. */
interface Wrong {
  readonly instance_id: string;
  readonly reason: string;
}

type Statuses = readonly string[];

/** An instance whose tests do not end alike every time. Lists are in the order of the repeats. */
export interface Flaky {
  readonly instance_id: string;
  readonly gold: readonly (boolean | null)[];
  readonly empty: readonly (boolean | null)[];
  /** Tests that pass in some repeats only. */
  readonly tests: readonly { readonly name: string; readonly gold: Statuses; readonly empty: Statuses }[];
}

export interface GoldCheck {
  readonly checked: number;
  readonly wrong: readonly Wrong[];
  readonly flaky: readonly Flaky[];
}

const PATCHES = ['gold', 'empty'] as const;

/**
 * Grades the gold patches before money is spent: checks that images exist, hidden tests run, and the gold patch resolves its
 * issue. @param repeat if more than 1, gold and the empty patch are graded so many times, to find flaky tests
 */
export async function checkGold(
  plan: BenchPlan,
  { out, repeat }: { readonly out: string; readonly repeat: number },
  openApp: () => Promise<App>,
): Promise<GoldCheck> {
  const instances = await chosenInstances(plan);
  const answers = await answersOf(plan, instances);
  const scripts = plan.grade === false ? undefined : plan.grade.run_scripts;
  const wrong: Wrong[] = [];
  const gradable: Gradable[] = [];
  for (const { issue } of instances) {
    const { instance_id } = issue;
    const tests = await hiddenTests(answers, instance_id, scripts);
    const gold = tests?.gold ?? null;
    if (tests === null || gold === null) {
      wrong.push({ instance_id, reason: `has no ${tests === null ? 'hidden tests' : 'gold patch'}` });
      continue;
    }
    gradable.push({ issue, candidates: candidatesToCheck(instance_id, gold, repeat), tests });
  }
  const book = await GradeFiles.open(out);
  const set = await gradeByPlan(plan, gradable, { book, repeats: repeat > 1 }, openApp);
  await book.close(set);
  const flaky = set.flatMap((each) => findFlaky(each) ?? []);
  return { checked: instances.length, wrong: [...wrong, ...set.flatMap(wrongWithGold)], flaky };
}

function candidatesToCheck(instance_id: string, gold: string, repeat: number): readonly Candidate[] {
  const candidate = (candidate_id: string, patch: string): Candidate => ({
    ...{ instance_id, candidate_id, patch },
    trajectory: null,
  });
  if (repeat === 1) return [candidate('gold', gold)];
  const times = Array.from({ length: repeat }, (_, index) => String(index + 1));
  return PATCHES.flatMap((name) => times.map((time) => candidate(`${name}-${time}`, name === 'gold' ? gold : '')));
}

function gradesWith(patch: (typeof PATCHES)[number], { graded }: GradedInstance): readonly CandidateGrade[] {
  return graded.grades.filter(({ candidate_id }) => candidate_id.startsWith(patch));
}

function wrongWithGold(instance: GradedInstance): readonly Wrong[] {
  const { instance_id, graded } = instance;
  const [gold, empty] = [gradesWith('gold', instance), gradesWith('empty', instance)];
  const isSolvedByNothing = empty.length > 0 && empty.every(({ resolved }) => resolved === true);
  const reasons = [
    ...(gold.some(({ resolved }) => resolved === true) ? [] : gold.slice(0, 1).map(({ reason }) => reason)),
    ...(isSolvedByNothing ? ['the empty patch resolves the issue'] : []),
    ...graded.ungraded.map(({ reason }) => reason),
    ...graded.leftOut.map(({ name, on_base }) => `${name} does not pass on base (${on_base})`),
  ];
  return [...new Set(reasons)].map((reason) => ({ instance_id, reason }));
}

/** Null if every repeat ended alike, or there was only one. */
export function findFlaky(instance: GradedInstance): Flaky | null {
  const [gold, empty] = [gradesWith('gold', instance), gradesWith('empty', instance)];
  const names = new Set([...gold, ...empty].flatMap(({ tests }) => Object.keys(tests)));
  const statuses = (grades: readonly CandidateGrade[], name: string): Statuses =>
    grades.map(({ tests }) => tests[name] ?? 'missing');
  const tests = [...names]
    .map((name) => ({ name, gold: statuses(gold, name), empty: statuses(empty, name) }))
    .filter((each) => moves(each.gold) || moves(each.empty));
  const labels = { gold: gold.map(({ resolved }) => resolved), empty: empty.map(({ resolved }) => resolved) };
  const isStable = [labels.gold, labels.empty].every((each) => new Set(each).size < 2);
  return isStable && tests.length === 0 ? null : { instance_id: instance.instance_id, ...labels, tests };
}

function moves(statuses: Statuses): boolean {
  return new Set(statuses.map((status) => status === 'passed')).size > 1;
}

/** One line for people. */
export function describeFlaky({ instance_id, gold, empty, tests }: Flaky): string {
  const right = (labels: Flaky['gold']): string =>
    `${labels.filter((label) => label === true).length} of ${labels.length}`;
  const moved = tests.map(
    ({ name, ...each }) => `${name} (gold: ${each.gold.join(' ')}; empty: ${each.empty.join(' ')})`,
  );
  return `${instance_id}: flaky, right in ${right(gold)} runs of gold and ${right(empty)} of the empty patch; ${moved.length === 0 ? 'no test moved' : `moved: ${moved.join(', ')}`}`;
}
