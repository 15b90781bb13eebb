import { SandboxStarvedError } from '../../../src/core/errors/unavailable.js';
import type { Graded } from '../../../src/grading/grade-candidates.js';
import { type ExecOutcome, OUT_OF_CPU } from '../../../src/ports/sandbox.js';
import { ended, exited } from '../../fakes/fake-sandbox.js';
import { calcPatch, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';
import { CALC, GradingWorld, pytest, ROW } from './grading-world.js';

const MINUS = 'tests/test_more.py::test_minus';
const [ZERO, SUM] = [`${CALC}test_zero`, `${CALC}test_sum`];
const GOLD = calcPatch('def add(a, b):', '    return b + a');
const WITH_GOLD = { ...ROW, patch: GOLD };
const WITHOUT_GOLD = { ...ROW, patch: undefined };
const ALL = pytest({ [ZERO]: 'PASSED', [SUM]: 'PASSED', [MINUS]: 'PASSED' });
const BASE = pytest({ [ZERO]: 'PASSED', [SUM]: 'FAILED', [MINUS]: 'FAILED' });
/** pytest's end when a test file cannot be imported. */
const CRASH = exited(2, 'ImportError\n');
const LATE = ended('timed-out');
const TAP = exited(0, 'ok 1 - adds\nok 2 - zero\n');

type Played = Readonly<Record<'base' | 'gold' | 'right' | 'wrong', ExecOutcome>>;

/** Plays each tree's tests; trees that are not named crash. */
function world(played: Partial<Played>): GradingWorld {
  const names = new Map<string | null, keyof Played>([
    [null, 'base'],
    [GOLD, 'gold'],
    [RIGHT, 'right'],
    [WRONG, 'wrong'],
  ]);
  return new GradingWorld({ tests: (tree) => played[names.get(tree) ?? 'base'] ?? CRASH });
}

function labels({ grades }: Graded): Record<string, boolean | null> {
  return Object.fromEntries(grades.map(({ candidate_id, resolved }) => [candidate_id, resolved]));
}

const BOTH = [candidate('right', RIGHT), candidate('wrong', WRONG)];

describe('logs that do not name the tests', () => {
  it.each([
    [
      'of another format',
      { base: exited(0, 'ok 1 - zero\n'), gold: TAP, right: TAP, wrong: exited(1, 'not ok 1 - adds') },
    ],
    ['that ends early for gold, too', { base: CRASH, gold: CRASH, right: CRASH, wrong: CRASH }],
    [
      'that only names failures',
      { base: CRASH, gold: exited(0), right: exited(0), wrong: pytest({ [SUM]: 'FAILED', [MINUS]: 'FAILED' }) },
    ],
  ])('gives no label if the log is one %s', async (_, played) => {
    const graded = await world(played).grade(BOTH, { row: WITH_GOLD });
    expect(labels(graded)).toEqual({ right: null, wrong: null });
    expect(graded.unreadable).toMatch(
      /^the log of gold, read as pytest, names 0 of [23] listed tests; found: none; listed, but not found: "/,
    );
    expect(graded.grades.map(({ reason }) => reason)).toEqual([graded.unreadable, graded.unreadable]);
    expect(graded.goldProblem).not.toBeNull();
  });

  it('shows ten names found and ten listed', async () => {
    const names = (count: number, begin: string): string[] =>
      Array.from({ length: count }, (_, index) => `${begin}${index}`);
    const found = pytest(Object.fromEntries(names(12, 'a.py::found_').map((name) => [name, 'PASSED'])));
    const row = { ...WITH_GOLD, FAIL_TO_PASS: names(12, 'a.py::listed '), PASS_TO_PASS: [] };
    const { unreadable } = await world({ base: CRASH, gold: found, right: found }).grade(BOTH, { row });
    expect(unreadable?.match(/"a\.py::found_\d"/g)).toHaveLength(10);
    expect(unreadable?.match(/"a\.py::listed \d"/g)).toHaveLength(10);
    expect(unreadable?.match(/, 2 more/g)).toHaveLength(2);
  });

  it('labels a patch wrong whose tests do not begin, if they do on gold or base', async () => {
    const onGold = world({ base: CRASH, gold: ALL, right: ALL, wrong: CRASH });
    expect(await onGold.grade(BOTH, { row: WITH_GOLD })).toMatchObject({ unreadable: null, goldProblem: null });
    expect(labels(await onGold.grade(BOTH, { row: WITH_GOLD }))).toEqual({ right: true, wrong: false });
    const onBase = world({ base: BASE, right: ALL, wrong: CRASH });
    expect(labels(await onBase.grade(BOTH, { row: WITH_GOLD }))).toEqual({ right: true, wrong: false });
    expect([...onBase.steps.values()].flat()).not.toContain(`apply ${GOLD}`);
  });

  it('runs gold once, and only for doubtful runs', async () => {
    const goldRuns = async (played: Partial<Played>): Promise<number> => {
      const each = world({ base: CRASH, gold: ALL, ...played });
      await each.grade([...BOTH, candidate('other', calcPatch('x = 1'))], { row: WITH_GOLD });
      return [...each.steps.values()].flat().filter((step) => step === `apply ${GOLD}`).length;
    };
    expect(await goldRuns({ right: CRASH, wrong: CRASH })).toBe(1);
    expect(await goldRuns({ base: BASE, right: ALL, wrong: BASE })).toBe(0);
  });

  it('lets PASS_TO_PASS on base decide without gold, and gives no label without them', async () => {
    const onlyZero = pytest({ [ZERO]: 'PASSED' });
    const played = { base: onlyZero, right: ALL, wrong: CRASH };
    expect(labels(await world(played).grade(BOTH, { row: WITHOUT_GOLD }))).toEqual({ right: true, wrong: false });
    const row = { ...WITHOUT_GOLD, PASS_TO_PASS: [] };
    const graded = await world(played).grade(BOTH, { row });
    expect(labels(graded)).toEqual({ right: true, wrong: null });
    expect(graded.unreadable).toMatch(/^the log of base, read as pytest, names 0 of 2 listed tests; found: "tests/);
  });

  it('gives no label for tests that gold lacks, too', async () => {
    const some = pytest({ [ZERO]: 'PASSED', [SUM]: 'PASSED' });
    const wrong = pytest({ [ZERO]: 'PASSED', [SUM]: 'FAILED' });
    const graded = await world({ base: BASE, gold: some, right: some, wrong }).grade(BOTH, { row: WITH_GOLD });
    expect(labels(graded)).toEqual({ right: null, wrong: null });
    expect(graded).toMatchObject({
      unreadable: expect.stringContaining(`names 0 of 1 listed tests`) as string,
      goldProblem: expect.stringContaining(`"${MINUS}" missing`) as string,
    });
    const lacking = world({ base: BASE, gold: ALL, right: ALL, wrong: some });
    expect(labels(await lacking.grade(BOTH, { row: WITH_GOLD }))).toEqual({ right: true, wrong: false });
  });

  it('keeps the label of a patch that is empty or cannot be applied', async () => {
    const each = world({ base: CRASH, gold: CRASH, right: CRASH });
    const graded = await each.grade([candidate('empty', ''), candidate('right', RIGHT)], { row: WITH_GOLD });
    expect(labels(graded)).toEqual({ empty: false, right: null });
  });

  it('gives no label if no listed test passes on base and none is to be repaired', async () => {
    const row = { ...WITH_GOLD, FAIL_TO_PASS: [], PASS_TO_PASS: [SUM, MINUS] };
    const graded = await world({ base: BASE, right: BASE, wrong: BASE }).grade(BOTH, { row });
    expect(labels(graded)).toEqual({ right: null, wrong: null });
    expect(graded.unreadable).toMatch(/^no listed test passes on base/);
  });

  it('gives no label if gold ends with the same unexplained exit code', async () => {
    const late = exited(5, (ALL as { stdout: string }).stdout);
    const same = world({ base: BASE, gold: late, right: late, wrong: BASE });
    const graded = await same.grade(BOTH, { row: WITH_GOLD });
    expect(labels(graded)).toEqual({ right: null, wrong: null });
    expect(graded.unreadable).toContain('with gold, too, the command ended with exit code 5');
    const own = world({ base: BASE, gold: ALL, right: late, wrong: BASE });
    expect(labels(await own.grade(BOTH, { row: WITH_GOLD }))).toEqual({ right: false, wrong: false });
  });

  it('says that gold cannot be applied, and lets base decide', async () => {
    const each = new GradingWorld({ tests: () => CRASH, applies: (patch) => patch !== GOLD });
    const { goldProblem, unreadable } = await each.grade(BOTH, { row: WITH_GOLD });
    expect(goldProblem).toMatch(/^the patch does not apply/);
    expect(unreadable).toContain('the log of base');
  });

  it('asks again for a stored grade without a label', async () => {
    const each = world({ base: BASE, right: ALL });
    const known = (): never => ({ resolved: null, reason: 'timed out', seconds: 1, tests: {} }) as never;
    expect(labels(await each.grade([candidate('right', RIGHT)], { known, row: WITH_GOLD }))).toEqual({ right: true });
  });
});

describe('limits of the tests', () => {
  it('allows CPU seconds, and four times as many by the clock', async () => {
    const each = world({ base: BASE, right: ALL });
    await each.grade([candidate('right', RIGHT)]);
    expect(each.requests.filter(({ cpuS }) => cpuS !== undefined)).toMatchObject([
      { cpuS: 300, deadlineS: 1200 },
      { cpuS: 300, deadlineS: 1200 },
    ]);
  });

  const starve = (): never => {
    throw new SandboxStarvedError('a command had 1 s of the CPU');
  };
  it.each([
    ['waits', () => LATE],
    ['is starved', starve],
  ])('repeats a run alone that %s until the wall-clock limit', async (_, late) => {
    let [tries, atOnce] = [0, 0];
    const each: GradingWorld = new GradingWorld({
      tests: async (tree) => {
        if (tree === null) return BASE;
        if (tree !== RIGHT) return ALL;
        tries += 1;
        if (tries === 1) return late();
        atOnce = each.sandbox.openNow;
        return ALL;
      },
    });
    const others = Array.from({ length: 5 }, (__, index) => candidate(`other ${index}`, calcPatch(`x = ${index}`)));
    const graded = await each.grade([...others, candidate('right', RIGHT)]);
    expect(labels(graded)).toMatchObject({ right: true });
    expect({ tries, atOnce, pauses: each.pauses }).toEqual({ tries: 2, atOnce: 1, pauses: [] });
  });

  it.each([
    ['waits', () => LATE],
    ['is starved', starve],
  ])('gives no label to a patch that %s both times, and labels the others', async (_, late) => {
    const each = new GradingWorld({ tests: (tree) => (tree === null ? BASE : tree === WRONG ? late() : ALL) });
    const graded = await each.grade(BOTH, { row: WITH_GOLD });
    expect(labels(graded)).toEqual({ right: true, wrong: null });
    expect(graded.grades[1]?.reason).toMatch(/^timed out: the tests did not end within 1200 s/);
    expect(graded).toMatchObject({ ungraded: [], unreadable: null });
  });

  it.each([
    ['CPU time', exited(OUT_OF_CPU)],
    ['memory', ended('out-of-memory')],
    ['disk', ended('out-of-disk')],
  ])('gives no label to a patch that runs out of %s if gold does, too', async (_, limit) => {
    const graded = await world({ base: BASE, gold: limit, right: limit, wrong: BASE }).grade(BOTH, { row: WITH_GOLD });
    expect(labels(graded)).toEqual({ right: null, wrong: false });
    expect(graded.grades[0]?.reason).toMatch(/, as on gold$/);
    const own = await world({ base: BASE, gold: ALL, right: ALL, wrong: limit }).grade(BOTH, { row: WITH_GOLD });
    expect(labels(own)).toEqual({ right: true, wrong: false });
    const onBase = await world({ base: limit, right: limit, wrong: ALL }).grade(BOTH, { row: WITHOUT_GOLD });
    expect(labels(onBase)).toEqual({ right: null, wrong: true });
    const late = await world({ base: BASE, gold: LATE, right: ALL, wrong: limit }).grade(BOTH, { row: WITH_GOLD });
    expect(labels(late)).toEqual({ right: true, wrong: null });
    expect(late.grades[1]?.reason).toMatch(/; gold did not end within 1200 s$/);
    const lateBase = await world({ base: LATE, right: ALL, wrong: limit }).grade(BOTH, { row: WITHOUT_GOLD });
    expect(labels(lateBase)).toEqual({ right: true, wrong: null });
  });
});

describe('silence about a test', () => {
  it('is no failure of PASS_TO_PASS if there is no gold and base does not name the test either', async () => {
    const some = pytest({ [SUM]: 'PASSED', [MINUS]: 'PASSED' });
    const graded = await world({ base: CRASH, right: some, wrong: some }).grade(BOTH, { row: WITHOUT_GOLD });
    expect(labels(graded)).toEqual({ right: null, wrong: null });
    expect(graded.unreadable).toMatch(/^the log of base, read as pytest, names 0 of 1 listed tests/);
    const named = await world({ base: BASE, right: some, wrong: BASE }).grade(BOTH, { row: WITHOUT_GOLD });
    expect(labels(named)).toEqual({ right: false, wrong: false });
    const lacksRepaired = await world({ base: CRASH, right: pytest({ [ZERO]: 'PASSED', [SUM]: 'PASSED' }) }).grade(
      [candidate('right', RIGHT)],
      { row: WITHOUT_GOLD },
    );
    expect(labels(lacksRepaired)).toEqual({ right: false });
  });

  it.each([
    ['with gold', WITH_GOLD],
    ['without gold', WITHOUT_GOLD],
  ])('is no pass of FAIL_TO_PASS if base, too, is silent about all of them, %s', async (_, row) => {
    const silent = exited(0, '658 specs, 0 failures\n');
    const failing = exited(1, `1) ${SUM}\n   Error: x\n658 specs, 1 failures\n`);
    const command = 'make check # log: javascript-failures';
    const played = { gold: silent, right: silent, wrong: failing };
    const graded = await world({ ...played, base: silent }).grade(BOTH, { row, command });
    expect(labels(graded)).toEqual({ right: null, wrong: null });
    expect(graded.unreadable).toMatch(/^base fails no test of FAIL_TO_PASS, and its log names only tests that fail/);
    const seen = await world({ ...played, base: failing }).grade(BOTH, { row, command });
    expect(labels(seen)).toEqual({ right: true, wrong: false });
    const crashed = await world({ ...played, base: exited(1, 'cannot start') }).grade(BOTH, { row, command });
    expect(labels(crashed)).toEqual({ right: true, wrong: false });
  });
});

describe('repeated runs', () => {
  it('grades equal and empty patches each in a container of its own, under keys of their own', async () => {
    const each = world({ base: BASE, right: ALL });
    const candidates = [
      ...[1, 2].map((index) => candidate(`right ${index}`, RIGHT)),
      ...[1, 2].map((index) => candidate(`empty ${index}`, '')),
    ];
    const graded = await each.grade(candidates, { repeats: true });
    expect(labels(graded)).toEqual({ 'right 1': true, 'right 2': true, 'empty 1': false, 'empty 2': false });
    expect(graded.grades[2]?.tests).toMatchObject({ [ZERO]: 'passed', [MINUS]: 'failed' });
    expect(new Set(graded.grades.map(({ key }) => key)).size).toBe(4);
    expect(each.sandbox.opens).toBe(1 + 4);
  });
});
