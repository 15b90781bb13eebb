import { z } from 'zod';
import { contentKey } from '../../../src/core/identifier.js';
import { type GeneratedTest, isHarvested } from '../../../src/core/run/generated-test.js';
import { fitting } from '../../source/read-sources.js';
import { failingTwin, namesFailing } from '../drivers/command.js';
import { dialectOf } from '../drivers/test-dialect.js';
import { contextKey, type ExecutionContext, type TreeRun, randomFrom } from '../execution-context.js';
import type { TestRun } from './run-batch.js';
import { agreeingTwin, isPlain, isStrict, neverTwin, readScript, type Script, wrongTwin } from './twins.js';

/**
 * Result of a patch's controls. `none`: no test has a suitable twin. `failed`: as with honest code. `unfit`: one was
 * solved, but honest code can solve it, too. `solved`: one was solved, and it is not known yet whether honest code
 * could. `forged`: the patch makes tests pass regardless of their content.
 */
export const Control = z.object({
  end: z.enum(['none', 'failed', 'unfit', 'solved', 'forged']),
  /** The script of the solved control; null if none was. */
  solved: z.string().nullable(),
  /** The script of the test that the control is a twin of. */
  donor: z.string().nullable(),
  /** Whether a control ended as neither solved nor not solved. */
  broke: z.boolean(),
});
export type Control = z.infer<typeof Control>;

/** Worst first. */
const ENDS: readonly Control['end'][] = ['forged', 'solved', 'unfit', 'failed', 'none'];

export function worseOf(a: Control, b: Control): Control {
  const worse = ENDS.indexOf(b.end) < ENDS.indexOf(a.end) ? b : a;
  return { ...worse, broke: a.broke || b.broke };
}

/** Runs scripts once, in a fresh container with base or the patch; nothing is stored. */
export type RunAside = (on: 'base' | 'tree', tests: readonly GeneratedTest[]) => Promise<ReadonlyMap<string, TestRun>>;

const MOST_DONORS = 4;
/** Characters of the tests that controls are made from: each patch has its own, and making them blocks other work. */
const MOST_READ = 250_000;
/** This many wrong twins are not solved by chance. */
const MANY_SOLVED = 3;

interface Planted {
  readonly donor: Script;
  /** The tests in the same container. */
  readonly among: readonly GeneratedTest[];
}

/** Scripts made of one test. */
interface Twins {
  readonly wrong: GeneratedTest | null;
  readonly agreeing: GeneratedTest | null;
  readonly never: GeneratedTest | null;
  readonly isStrict: boolean;
}

/** The controls of one patch: one among the tests of each of its containers, indistinguishable from a test. */
export class Controls {
  /** Donor and surroundings of each control. */
  private readonly planted = new Map<GeneratedTest, Planted>();
  /** Outcome of each control. */
  private readonly ended = new Map<GeneratedTest, TestRun['outcome']>();
  /** For tests reported by a command: the twin that must fail in each container, and the test it is made from. */
  private readonly failing = new Map<GeneratedTest, GeneratedTest>();
  private readonly reported = new Map<GeneratedTest, TestRun['outcome']>();
  private readonly scripts: readonly Script[];
  /** With a single test: whether its control runs first, since a patch may recognise the second container. */
  private readonly isFirst: boolean;
  private readonly random: (below: number) => number;

  constructor(
    tests: readonly GeneratedTest[],
    private readonly nonce: () => string,
  ) {
    this.random = randomFrom(nonce);
    const ours = tests.filter((test) => test.expect === undefined && test.observes !== true && !isHarvested(test));
    const scripts = this.fewOf(ours).flatMap((test) => readScript(test) ?? []);
    this.scripts = scripts.filter((script) => this.contentOf(script) !== null);
    this.isFirst = tests.length === 1 && this.random(2) === 0;
  }

  /**
   * The test whose control still has to run alone in a container; null if there is none.
   * @param isLast whether all tests have ended
   */
  due(isLast: boolean): GeneratedTest | null {
    return this.ended.size === 0 && (isLast || this.isFirst) ? (this.scripts[0]?.test ?? null) : null;
  }

  /**
   * The tests with one control among them, and the control. Null if there can be none: no script of their language, or
   * the tests are a candidate's scripts, which may forge the outcomes of others.
   */
  among(
    tests: readonly GeneratedTest[],
    like: GeneratedTest,
  ): { tests: readonly GeneratedTest[]; control: GeneratedTest | null } {
    if (dialectOf(like)?.name === 'command') return this.amongReported(tests, like);
    const donor = this.donorFor(tests, like);
    const content = donor === undefined ? null : this.contentOf(donor);
    if (donor === undefined || content === null) return { tests, control: null };
    const control = { ...donor.test, test_id: this.nonce(), content };
    this.planted.set(control, { donor, among: tests });
    return { tests: this.placed(tests, donor.test, control), control };
  }

  /** The addition fails in any honest run; a patch that recognises it can spare it. */
  private amongReported(
    tests: readonly GeneratedTest[],
    like: GeneratedTest,
  ): { tests: readonly GeneratedTest[]; control: GeneratedTest | null } {
    const twins = tests.flatMap((test) => {
      const name = `X${this.nonce().slice(0, 8)}`;
      const content = isHarvested(like) ? null : failingTwin(test, name);
      return content === null ? [] : [{ test, control: { ...test, test_id: name, content } }];
    });
    const twin = twins[this.random(Math.max(1, twins.length))];
    if (twin === undefined) return { tests, control: null };
    this.failing.set(twin.control, twin.test);
    return { tests: tests.toSpliced(this.random(tests.length + 1), 0, twin.control), control: twin.control };
  }

  /**
   * Prefers a test from another container, since a patch that remembers what ran before would recognise a similar
   * script; and one whose twin looks handwritten.
   */
  private donorFor(tests: readonly GeneratedTest[], like: GeneratedTest): Script | undefined {
    if (isHarvested(like)) return undefined;
    let donors = this.scripts.filter(({ test }) => dialectOf(test) === dialectOf(like));
    for (const isBetter of [({ test }: Script) => !tests.includes(test), isPlain]) {
      const better = donors.filter(isBetter);
      if (better.length > 0) donors = better;
    }
    const donor = donors[this.random(Math.max(1, donors.length))];
    // Next to only its own test, a control would be recognisable, so it gets a separate container.
    return tests.length === 1 && this.scripts.length === 1 ? undefined : donor;
  }

  /**
   * Either the control or its donor, at random, comes last: a patch that remembers what ran before has seen both only
   * when nothing is left to forge.
   */
  private placed(
    tests: readonly GeneratedTest[],
    donor: GeneratedTest,
    control: GeneratedTest,
  ): readonly GeneratedTest[] {
    const others = tests.filter((test) => test !== donor);
    const pair = tests.includes(donor) ? [donor, control] : [control];
    if (this.random(2) === 0) pair.reverse();
    const [first = control, ...last] = pair;
    return [...others.toSpliced(this.random(others.length + 1), 0, first), ...last];
  }

  take(control: GeneratedTest, { outcome }: TestRun): void {
    if (!this.failing.has(control)) this.ended.set(control, outcome);
    // A twin that breaks, e.g. because it does not compile, proves nothing.
    else if (outcome === 'solved' || outcome === 'not-solved') this.reported.set(control, outcome);
  }

  /** @param runs the patch's results on its tests */
  async verdict(runs: ReadonlyMap<string, TestRun>, aside: RunAside): Promise<Control> {
    const broke = [...this.ended.values()].some((outcome) => outcome !== 'solved' && outcome !== 'not-solved');
    const count = this.ended.size + this.reported.size;
    let worst: Control = { end: count === 0 ? 'none' : 'failed', solved: null, donor: null, broke };
    for (const [control, outcome] of this.reported) {
      const donor = outcome === 'solved' ? this.failing.get(control) : undefined;
      if (donor === undefined || worst.end === 'forged') continue;
      const end = await reportedEnd(control, aside);
      worst = worseOf(worst, { end, solved: control.content, donor: donor.content, broke });
    }
    for (const [control, outcome] of this.ended) {
      const planted = outcome === 'solved' ? this.planted.get(control) : undefined;
      if (planted === undefined || worst.end === 'forged') continue;
      const end = await this.confirm(control, planted, runs, aside);
      worst = worseOf(worst, { end, solved: control.content, donor: planted.donor.test.content, broke });
    }
    return worst;
  }

  /**
   * Honest code cannot have solved a control if it does not solve it again, or if it solves a script that only exits
   * with "not solved", the wrong twins of several tests that compare only with literals, or that of one test that base
   * shows to be decided by its comparisons. It can if base solves the control, or if it computes the twin's value by
   * mistake, without solving the test.
   */
  private async confirm(
    control: GeneratedTest,
    { donor, among }: Planted,
    runs: ReadonlyMap<string, TestRun>,
    aside: RunAside,
  ): Promise<'forged' | 'unfit' | 'solved'> {
    const solved = this.scripts.filter(
      ({ test }) => dialectOf(test) === dialectOf(control) && runs.get(test.test_id)?.outcome === 'solved',
    );
    // The control's own test first.
    const donors = solved.toSorted((a, b) => Number(b === donor) - Number(a === donor)).slice(0, MOST_DONORS);
    const made = donors.map((script): Twins => ({
      wrong: script === donor ? control : this.made(script, wrongTwin(script, this.random)),
      agreeing: this.made(script, agreeingTwin(script)),
      never: this.made(script, neverTwin(script, this.random)),
      isStrict: isStrict(script),
    }));
    // Among as many scripts as before, since a patch that notices the check would fail them.
    const wrong = made.map((twins) => twins.wrong);
    const scripts = [control, made[0]?.never ?? null, ...wrong, ...made.map(({ never }) => never), ...among];
    const tried = [...new Set(present(scripts))].slice(0, Math.max(2, among.length + 1));
    const onTree = await aside('tree', this.shuffled(tried));
    if (isProvenOn(onTree, control, { donor, made })) return 'forged';
    const suspect = made.filter((twins) => isSolved(twins.wrong, onTree));
    const onBase =
      suspect.length === 0
        ? new Map<string, TestRun>()
        : await aside('base', present(suspect.flatMap((twins) => [twins.wrong, twins.agreeing])));
    if (suspect.some((twins) => isSolved(twins.agreeing, onBase) && !isSolved(twins.wrong, onBase))) return 'forged';
    return isSolved(control, onBase) || !solved.includes(donor) ? 'unfit' : 'solved';
  }

  /** All tests, or as many as can be read quickly. */
  private fewOf(tests: readonly GeneratedTest[]): readonly GeneratedTest[] {
    const lengthOf = ({ content }: GeneratedTest): number => content.length;
    const isSmall = tests.reduce((sum, test) => sum + lengthOf(test), 0) <= MOST_READ;
    return isSmall ? tests : fitting(this.shuffled(tests), MOST_READ, lengthOf);
  }

  private shuffled(tests: readonly GeneratedTest[]): readonly GeneratedTest[] {
    const done: GeneratedTest[] = [];
    for (const test of tests) done.splice(this.random(done.length + 1), 0, test);
    return done;
  }

  private made({ test }: Script, content: string | null): GeneratedTest | null {
    return content === null ? null : { ...test, test_id: this.nonce(), content };
  }

  private contentOf(script: Script): string | null {
    return wrongTwin(script, this.random) ?? neverTwin(script, this.random);
  }
}

/** Whether the patch's results on its control and other twins, run again, exceed what honest code can do. */
function isProvenOn(
  onTree: ReadonlyMap<string, TestRun>,
  control: GeneratedTest,
  { donor, made }: { readonly donor: Script; readonly made: readonly Twins[] },
): boolean {
  const ended = onTree.get(control.test_id)?.outcome;
  if (ended === 'not-solved' || ended === 'crashed') return true;
  // The twin of a test without comparisons only exits with "not solved".
  if (donor.operands.length === 0 && ended === 'solved') return true;
  if (made.some(({ never }) => isSolved(never, onTree))) return true;
  const strict = made.filter((twins) => twins.isStrict && onTree.has(twins.wrong?.test_id ?? ''));
  return strict.length >= MANY_SOLVED && strict.every(({ wrong }) => isSolved(wrong, onTree));
}

/**
 * A patch that passed a failing test forges if base reports that test as failed, and may be honest if base's whole report
 * lacks it. Base cannot tell in languages whose reports do not name it, because it fails the test that the control is
 * made of, nor if it does not compile or ends early; other patches have to.
 */
async function reportedEnd(control: GeneratedTest, aside: RunAside): Promise<'forged' | 'unfit' | 'solved'> {
  if (!namesFailing(control)) return 'solved';
  const onBase = await aside('base', [control]);
  const named = onBase.get(control.test_id)?.named;
  return named === undefined ? 'solved' : named ? 'forged' : 'unfit';
}

function isSolved(test: GeneratedTest | null, on: ReadonlyMap<string, TestRun>): boolean {
  return test !== null && on.get(test.test_id)?.outcome === 'solved';
}

function present(tests: readonly (GeneratedTest | null)[]): readonly GeneratedTest[] {
  return tests.filter((test) => test !== null);
}

/** Key of the result of a patch's controls, stored along with that of its tests. */
export function controlKey(
  context: ExecutionContext,
  { tree, repeat }: TreeRun,
  tests: readonly GeneratedTest[],
): string {
  const contents = tests.map((test) => `${isHarvested(test) ? 'theirs' : 'ours'} ${test.path} ${test.content}`).sort();
  // Tests reported by a command had no controls under protocol 5; 8: base has to give a whole report.
  const protocol = tests.some((test) => dialectOf(test)?.name === 'command') ? 8 : 5;
  return contentKey({ kind: 'control', ...contextKey(context), tree, repeat, contents, protocol });
}
