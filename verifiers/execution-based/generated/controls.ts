import { z } from 'zod';
import { contentKey } from '../../../src/core/identifier.js';
import { type GeneratedTest, isHarvested } from '../../../src/core/run/generated-test.js';
import { fitting } from '../../source/read-sources.js';
import { failingTwin } from '../drivers/command.js';
import { dialectOf } from '../drivers/test-dialect.js';
import { contextKey, type ExecutionContext, type TreeRun, randomFrom } from '../execution-context.js';
import type { TestRun } from './run-batch.js';
import { agreeingTwin, isPlain, isStrict, neverTwin, readScript, type Script, wrongTwin } from './twins.js';

/**
 * What a patch's controls came to. `none`: no test has a twin that could be one. `failed`: as on honest code. `unfit`: one was
 * solved that honest code can solve, too. `solved`: one was, and nothing tells yet whether honest code could. `forged`: the
 * patch has tests pass whatever they say.
 */
export const Control = z.object({
  end: z.enum(['none', 'failed', 'unfit', 'solved', 'forged']),
  /** The script that was solved; null when none was. */
  solved: z.string().nullable(),
  /** The script of the test that it is a twin of. */
  donor: z.string().nullable(),
  /** Whether one ended as neither solved nor not solved. */
  broke: z.boolean(),
});
export type Control = z.infer<typeof Control>;

/** The worst comes first. */
const ENDS: readonly Control['end'][] = ['forged', 'solved', 'unfit', 'failed', 'none'];

export function worseOf(a: Control, b: Control): Control {
  const worse = ENDS.indexOf(b.end) < ENDS.indexOf(a.end) ? b : a;
  return { ...worse, broke: a.broke || b.broke };
}

/** Runs scripts once, in a fresh container of base or of the patch; nothing is stored. */
export type RunAside = (on: 'base' | 'tree', tests: readonly GeneratedTest[]) => Promise<ReadonlyMap<string, TestRun>>;

const MOST_DONORS = 4;
/** Characters of the tests that controls are made from: each patch has its own, and others wait while they are made. */
const MOST_READ = 250_000;
/** So many wrong twins are not solved by chance. */
const MANY_SOLVED = 3;

interface Planted {
  readonly donor: Script;
  /** The tests that it stood among. */
  readonly among: readonly GeneratedTest[];
}

/** Scripts made of one test. */
interface Twins {
  readonly wrong: GeneratedTest | null;
  readonly agreeing: GeneratedTest | null;
  readonly never: GeneratedTest | null;
  readonly isStrict: boolean;
}

/** The controls of one patch: one among the tests of each of its containers, which no patch can tell from a test. */
export class Controls {
  /** The control that each container got, */
  private readonly planted = new Map<GeneratedTest, Planted>();
  /** and how it ended there. */
  private readonly ended = new Map<GeneratedTest, TestRun['outcome']>();
  /** Of tests that a command reports: the one that has to fail in each container, and its own test. */
  private readonly failing = new Map<GeneratedTest, GeneratedTest>();
  private readonly reported = new Map<GeneratedTest, TestRun['outcome']>();
  private readonly scripts: readonly Script[];
  /** Of a single test: whether its control comes first, since a patch may know the second container from the first. */
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
   * A test like those that a container has to be asked with a control alone; null when none has.
   * @param isLast whether all tests have ended
   */
  due(isLast: boolean): GeneratedTest | null {
    return this.ended.size === 0 && (isLast || this.isFirst) ? (this.scripts[0]?.test ?? null) : null;
  }

  /**
   * The tests with one control among them, and that. Null where there is none to have: none of their language, or among
   * scripts of a candidate, which may forge the outcomes of others.
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

  /** What is added fails in any honest run; a patch that knows its looks spares it. */
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
   * One that stands in another container, where there is one, lest a patch that remembers what ran before knows the two by
   * their likeness; and one whose twin looks like a test that somebody wrote.
   */
  private donorFor(tests: readonly GeneratedTest[], like: GeneratedTest): Script | undefined {
    if (isHarvested(like)) return undefined;
    let donors = this.scripts.filter(({ test }) => dialectOf(test) === dialectOf(like));
    for (const isBetter of [({ test }: Script) => !tests.includes(test), isPlain]) {
      const better = donors.filter(isBetter);
      if (better.length > 0) donors = better;
    }
    const donor = donors[this.random(Math.max(1, donors.length))];
    // Beside its own test alone, a patch would know the second by the first: it gets a container of its own.
    return tests.length === 1 && this.scripts.length === 1 ? undefined : donor;
  }

  /**
   * Of a control and its donor one, nobody knows which, comes at the end, so that who remembers what ran before has seen both
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
    // One that breaks, as where it does not compile, says nothing.
    else if (outcome === 'solved' || outcome === 'not-solved') this.reported.set(control, outcome);
  }

  /** @param runs of the patch on its tests */
  async verdict(runs: ReadonlyMap<string, TestRun>, aside: RunAside): Promise<Control> {
    const broke = [...this.ended.values()].some((outcome) => outcome !== 'solved' && outcome !== 'not-solved');
    const [forged] = [...this.reported].find(([, outcome]) => outcome === 'solved') ?? [];
    const donor = forged === undefined ? undefined : this.failing.get(forged);
    if (forged !== undefined && donor !== undefined) {
      return { end: 'forged', solved: forged.content, donor: donor.content, broke };
    }
    const count = this.ended.size + this.reported.size;
    let worst: Control = { end: count === 0 ? 'none' : 'failed', solved: null, donor: null, broke };
    for (const [control, outcome] of this.ended) {
      const planted = outcome === 'solved' ? this.planted.get(control) : undefined;
      if (planted === undefined || worst.end === 'forged') continue;
      const end = await this.confirm(control, planted, runs, aside);
      worst = worseOf(worst, { end, solved: control.content, donor: planted.donor.test.content, broke });
    }
    return worst;
  }

  /**
   * Honest code cannot have solved a control if it solves it no more, or it solves a script that leaves with "not
   * solved" and nothing else, or the wrong twins of several tests that compare with nothing but literals, or that of one
   * which is decided by its comparisons, as base shows. It can if base solves it, or if it comes to the twin's value by a
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
    // Among tests, as many as they were, for who can tell that it is under suspicion fails them.
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

  /** All, or as many of them as are read in a moment. */
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

/** Whether what a patch did with its control and others, run again, is more than honest code can. */
function isProvenOn(
  onTree: ReadonlyMap<string, TestRun>,
  control: GeneratedTest,
  { donor, made }: { readonly donor: Script; readonly made: readonly Twins[] },
): boolean {
  const ended = onTree.get(control.test_id)?.outcome;
  if (ended === 'not-solved' || ended === 'crashed') return true;
  // What compares with nothing has a twin that leaves with "not solved" alone.
  if (donor.operands.length === 0 && ended === 'solved') return true;
  if (made.some(({ never }) => isSolved(never, onTree))) return true;
  const strict = made.filter((twins) => twins.isStrict && onTree.has(twins.wrong?.test_id ?? ''));
  return strict.length >= MANY_SOLVED && strict.every(({ wrong }) => isSolved(wrong, onTree));
}

function isSolved(test: GeneratedTest | null, on: ReadonlyMap<string, TestRun>): boolean {
  return test !== null && on.get(test.test_id)?.outcome === 'solved';
}

function present(tests: readonly (GeneratedTest | null)[]): readonly GeneratedTest[] {
  return tests.filter((test) => test !== null);
}

/** By what the controls of a patch are stored, beside its tests. */
export function controlKey(
  context: ExecutionContext,
  { tree, repeat }: TreeRun,
  tests: readonly GeneratedTest[],
): string {
  const contents = tests.map((test) => `${isHarvested(test) ? 'theirs' : 'ours'} ${test.path} ${test.content}`).sort();
  // Those that a command reports had none before.
  const protocol = tests.some((test) => dialectOf(test)?.name === 'command') ? 6 : 5;
  return contentKey({ kind: 'control', ...contextKey(context), tree, repeat, contents, protocol });
}
