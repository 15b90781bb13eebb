import type { Candidate } from '../../../src/core/run/candidate.js';
import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import type { Observe } from '../../../src/core/run/verifier.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import type { Separate } from '../../../src/core/run/verifier.js';
import { admittedTests, tellCells, testCells } from './admitted-tests.js';
import type { Control } from './controls.js';
import type { ExecutionContext } from '../execution-context.js';
import type { Applicable, DistinctPatch } from '../tree/distinct.js';
import { abstained, forEach } from '../outcomes.js';
import type { TestRun } from './run-batch.js';
import { runTests, type TestRuns } from './run-tests.js';

export interface Reproduction {
  readonly tests: readonly GeneratedTest[];
  /** All of the run, whose agents' scripts may be among the tests. */
  readonly candidates: readonly Pick<Candidate, 'candidate_id'>[];
  readonly applicable: Promise<Applicable>;
  readonly separate?: Separate | undefined;
}

/**
 * The generated tests: on base twice, for admission; the admitted ones on every distinct patch, one fresh container a
 * patch. When the leaders are tied, once more with tests that may separate them. Scripts of the candidates' own agents have
 * no controls beside them and count only beside other tests, each where another patch than its author's solves it. Scores the number of admitted tests that
 * a patch solves (R2E-Gym's TestScore, arXiv 2504.07164, equation 1).
 */
export async function verifyReproduction(
  context: ExecutionContext,
  { tests, candidates, applicable, separate }: Reproduction,
  observe: Observe,
  signal: AbortSignal,
): Promise<readonly Verdict[]> {
  if (tests.length === 0) {
    return abstained((await applicable).patches, 'reproduction', 'no-tests', 'no generated tests were given');
  }
  const { admitted, admissions } = await admittedTests(context, tests, observe, signal);
  await observe.admission(admissions);
  const { patches } = await applicable;
  if (admitted.length === 0) {
    return abstained(patches, 'reproduction', 'no-tests', `none of ${tests.length} generated tests was admitted`);
  }
  const rivals = new Set(candidates.map(({ candidate_id }) => candidate_id));
  if (admitted.every(({ author }) => rivals.has(author ?? '')))
    return abstained(patches, 'reproduction', 'no-tests', NO_WITNESS);
  const matrix = new Matrix(context, { patches, rivals, observe });
  await matrix.run(admitted, signal);
  const leaders = separate === undefined ? null : matrix.tiedLeaders();
  if (separate !== undefined && leaders !== null) {
    const more = await admittedTests(context, await separate(leaders, signal), observe, signal);
    await observe.admission([...admissions, ...more.admissions]);
    await matrix.run(more.admitted, signal);
  }
  return matrix.verdicts();
}

const NO_WITNESS = "all tests are scripts of the candidates' own agents, which decide nothing alone";

interface Matched {
  readonly patches: readonly DistinctPatch[];
  /** Candidates, whose agents' scripts may be among the tests. */
  readonly rivals: ReadonlySet<string>;
  readonly observe: Observe;
}

/** Outcomes of tests on patches, as they come. */
class Matrix {
  private readonly tests: GeneratedTest[] = [];
  private readonly runs = new Map<DistinctPatch, Map<string, TestRun>>();
  private readonly controls = new Map<DistinctPatch, Control>();
  private readonly lost: Verdict[] = [];

  constructor(
    private readonly context: ExecutionContext,
    private readonly matched: Matched,
  ) {
    for (const patch of matched.patches) this.runs.set(patch, new Map());
  }

  /** Runs further tests on every patch whose containers were not lost, and that forged nothing. */
  async run(tests: readonly GeneratedTest[], signal: AbortSignal): Promise<void> {
    if (tests.length === 0) return;
    this.tests.push(...tests);
    const lost = await forEach(
      [...this.runs.keys()],
      'reproduction',
      async (patch) => {
        const found = await stableRuns(this.context, patch.source, tests, signal);
        await tellCells(this.matched.observe, testCells(this.context, patch, tests, found));
        if (found.control.end === 'forged') return forged(patch, found.control);
        for (const [id, run] of found.runs) this.runs.get(patch)?.set(id, run);
        this.controls.set(patch, found.control);
        return [];
      },
      this.context.tracer,
    );
    this.lost.push(...lost);
    const gone = new Set(lost.map(({ candidate_id }) => candidate_id));
    for (const patch of this.matched.patches) if (gone.has(patch.representative)) this.runs.delete(patch);
  }

  /** The sources of the two patches, most candidates first, that solve most tests; null when one alone does. */
  tiedLeaders(): readonly [string, string] | null {
    const tests = this.counted();
    const solved = [...this.runs].map(([patch, runs]) => ({
      patch,
      count: tests.filter(({ test_id }) => runs.get(test_id)?.outcome === 'solved').length,
    }));
    const most = Math.max(...solved.map(({ count }) => count));
    const [a, b] = solved
      .filter(({ count }) => count === most)
      .map(({ patch }) => patch)
      .sort((x, y) => y.candidateIds.length - x.candidateIds.length);
    return a === undefined || b === undefined ? null : [a.source, b.source];
  }

  /** Without scripts that nobody bears out but the candidate whose agent wrote them. */
  private counted(): readonly GeneratedTest[] {
    return this.tests.filter(({ test_id, author }) => {
      if (author === null || !this.matched.rivals.has(author)) return true;
      const others = [...this.runs].filter(([{ candidateIds }]) => !candidateIds.includes(author));
      return others.some(([, runs]) => runs.get(test_id)?.outcome === 'solved');
    });
  }

  verdicts(): readonly Verdict[] {
    const tests = this.counted();
    const scores = [...this.runs].flatMap(([patch, runs]) =>
      patch.candidateIds.map((id) => {
        const { end } = this.controls.get(patch) ?? { end: 'none' };
        return scored(id, { runs, tests, control: end, verified_as: patch.representative });
      }),
    );
    return [...this.lost, ...scores];
  }
}

/**
 * The tests on one patch. Those that broke run once more in a fresh container, and the second word counts: on base they
 * were stable, so a crash or a time-out may be the machine's.
 */
async function stableRuns(
  context: ExecutionContext,
  tree: string,
  tests: readonly GeneratedTest[],
  signal: AbortSignal,
): Promise<TestRuns> {
  const first = await runTests(context, { tree, repeat: 0 }, tests, signal);
  const broken = tests.filter(({ test_id }) => !isWord(first.runs.get(test_id)));
  if (broken.length === 0 || first.control.end === 'forged') return first;
  const again = await runTests(context, { tree, repeat: 1 }, broken, signal);
  const control = again.control.end === 'forged' ? again.control : first.control;
  return { runs: new Map([...first.runs, ...again.runs]), control };
}

function isWord(run: TestRun | undefined): boolean {
  return run?.outcome === 'solved' || run?.outcome === 'not-solved';
}

function forged(patch: DistinctPatch, { solved }: Control): Verdict[] {
  const detail = 'it solves a test of ours that no honest patch can solve';
  return abstained([patch], 'reproduction', 'forged', detail).map((verdict) => ({
    ...verdict,
    evidence: { solved_control: solved },
  }));
}

interface Outcomes {
  readonly runs: ReadonlyMap<string, TestRun>;
  readonly tests: readonly GeneratedTest[];
  readonly control: Control['end'];
  readonly verified_as: string;
}

function scored(candidate_id: string, { runs, tests, control, verified_as }: Outcomes): Verdict {
  const having = (wanted: (outcome: string) => boolean): string[] =>
    tests.filter(({ test_id }) => wanted(runs.get(test_id)?.outcome ?? 'missing')).map(({ test_id }) => test_id);
  const solved = having((outcome) => outcome === 'solved');
  return {
    kind: 'scored',
    candidate_id,
    measure: 'reproduction',
    score: solved.length,
    out_of: tests.length,
    evidence: {
      solved,
      unsolved: having((outcome) => outcome === 'not-solved'),
      // One that a limit ended says nothing of the patch; one that worked on base and crashes here speaks against it.
      failed: having((outcome) => outcome === 'not-solved' || outcome === 'crashed' || outcome === 'forged'),
      broken: having((outcome) => outcome !== 'solved' && outcome !== 'not-solved'),
      control,
      isolated: [...runs.values()].every(({ isolated }) => isolated),
      verified_as,
    },
  };
}
