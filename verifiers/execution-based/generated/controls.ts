import { z } from 'zod';
import { contentKey } from '../../../src/core/fingerprint.js';
import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import { contextKey, type ExecutionContext, type TreeRun } from '../execution-context.js';
import { randomFrom } from '../random.js';
import type { TestRun } from './run-batch.js';
import { agreeingTwin, neverTwin, readScript, type Script, wrongTwin } from './twins.js';

/**
 * What a patch's controls came to. `none`: no test has a twin that could be one. `failed`: as on honest code. `unfit`: one was
 * solved, but nothing proves that honest code could not solve it. `forged`: the patch has tests pass whatever they say.
 */
export const Control = z.object({
  end: z.enum(['none', 'failed', 'unfit', 'forged']),
  /** The script that was solved; null when none was. */
  solved: z.string().nullable(),
});
export type Control = z.infer<typeof Control>;

/** Runs scripts once, in a fresh container of base or of the patch; nothing is stored. */
export type RunAside = (on: 'base' | 'tree', tests: readonly GeneratedTest[]) => Promise<ReadonlyMap<string, TestRun>>;

const MOST_DONORS = 4;

/** The controls of one patch: one among the tests of each of its containers, which no patch can tell from a test. */
export class Controls {
  /** The control that each container got, and whether it was solved there. */
  private readonly ended = new Map<GeneratedTest, boolean>();
  private readonly scripts: readonly Script[];
  private readonly random: (below: number) => number;

  constructor(
    tests: readonly GeneratedTest[],
    private readonly nonce: () => string,
  ) {
    this.random = randomFrom(nonce);
    const scripts = tests.filter(({ expect }) => expect === undefined).flatMap((test) => readScript(test) ?? []);
    this.scripts = scripts.filter((script) => this.contentOf(script) !== null);
  }

  /** Whether a container still has to be asked, though all tests have ended. */
  get isDue(): boolean {
    return this.scripts.length > 0 && this.ended.size === 0;
  }

  /** The tests with one control among them, and that; null where there is none to have, or none of their language. */
  among(
    tests: readonly GeneratedTest[],
    all: readonly GeneratedTest[],
  ): { tests: GeneratedTest[]; control: GeneratedTest | null } {
    const extension = (path: string): string => path.slice(path.lastIndexOf('.'));
    const like = new Set((tests.length > 0 ? tests : all).map(({ path }) => extension(path)));
    const donors = this.scripts.filter(({ test }) => like.has(extension(test.path)));
    const donor = donors[this.random(Math.max(1, donors.length))];
    const content = donor === undefined ? null : this.contentOf(donor);
    if (donor === undefined || content === null) return { tests: [...tests], control: null };
    const control = { ...donor.test, test_id: this.nonce(), content };
    return { tests: [...tests].toSpliced(this.random(tests.length + 1), 0, control), control };
  }

  take(control: GeneratedTest, { outcome }: TestRun): void {
    this.ended.set(control, outcome === 'solved');
  }

  /** @param runs of the patch on its tests */
  async verdict(runs: ReadonlyMap<string, TestRun>, aside: RunAside): Promise<Control> {
    if (this.ended.size === 0) return { end: 'none', solved: null };
    const [control] = [...this.ended].find(([, solved]) => solved) ?? [];
    if (control === undefined) return { end: 'failed', solved: null };
    const isForged = await this.confirm(runs, aside);
    return { end: isForged ? 'forged' : 'unfit', solved: control.content };
  }

  /**
   * Whether honest code cannot have solved a control: either it solves a script that leaves with "not solved" and nothing
   * else, or the wrong twin of a test that is decided by its comparisons, which base shows.
   */
  private async confirm(runs: ReadonlyMap<string, TestRun>, aside: RunAside): Promise<boolean> {
    const solved = this.scripts.filter(({ test }) => runs.get(test.test_id)?.outcome === 'solved');
    const donors = solved.slice(0, MOST_DONORS);
    const made = donors.map((script) => ({
      wrong: this.made(script, wrongTwin(script, this.random)),
      agreeing: this.made(script, agreeingTwin(script)),
      never: this.made(script, neverTwin(script)),
    }));
    const present = (tests: readonly (GeneratedTest | null)[]): GeneratedTest[] =>
      tests.filter((test) => test !== null);
    const onBase = await aside('base', present(made.flatMap(({ wrong, agreeing }) => [wrong, agreeing])));
    const onTree = await aside('tree', present(made.flatMap(({ wrong, never }) => [wrong, never])));
    const isSolved = (test: GeneratedTest | null, on: ReadonlyMap<string, TestRun>): boolean =>
      test !== null && on.get(test.test_id)?.outcome === 'solved';
    return made.some(
      ({ wrong, agreeing, never }) =>
        isSolved(never, onTree) || (isSolved(agreeing, onBase) && !isSolved(wrong, onBase) && isSolved(wrong, onTree)),
    );
  }

  private made({ test }: Script, content: string | null): GeneratedTest | null {
    return content === null ? null : { ...test, test_id: this.nonce(), content };
  }

  private contentOf(script: Script): string | null {
    return wrongTwin(script, this.random) ?? neverTwin(script);
  }
}

/** By what the controls of a patch are stored, beside its tests. */
export function controlKey(
  context: ExecutionContext,
  { tree, repeat }: TreeRun,
  tests: readonly GeneratedTest[],
): string {
  const contents = tests.map(({ content }) => content).sort();
  return contentKey({ kind: 'control', ...contextKey(context), tree, repeat, contents });
}
