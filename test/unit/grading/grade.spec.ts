import { InterruptedError } from '../../../src/core/errors/errors.js';
import { ImageMissingError, SandboxLostError } from '../../../src/core/errors/unavailable.js';
import type { CandidateGrade, Graded } from '../../../src/grading/grade-candidates.js';
import { OUT_OF_CPU } from '../../../src/ports/sandbox.js';
import { ended, exited } from '../../fakes/fake-sandbox.js';
import { CALCULATOR, calcPatch, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';
import { CALC, GradingWorld, pytest, ROW, TEST_PATCH } from './grading-world.js';

const MINUS = 'tests/test_more.py::test_minus';
const ZERO = `${CALC}test_zero`;
const ALL = { [`${CALC}test_zero`]: 'PASSED', [`${CALC}test_sum`]: 'PASSED', [MINUS]: 'PASSED' };
const SOME = { ...ALL, [MINUS]: 'FAILED' };
const BASE = { ...ALL, [`${CALC}test_sum`]: 'FAILED', [MINUS]: 'FAILED' };
/** Such rows name tests that the image holds. */
const SMITH = { image_name: 'calculator', patch: WRONG, test_patch: undefined };
const CANDIDATES = [candidate('wrong', WRONG), candidate('right', RIGHT)];

function honest(tree: string | null): ReturnType<typeof pytest> {
  return pytest(tree === null ? BASE : tree === RIGHT ? ALL : SOME);
}

function told({ grades }: Graded): Record<string, boolean | null> {
  return Object.fromEntries(grades.map(({ candidate_id, resolved }) => [candidate_id, resolved]));
}

/** Grades the right patch, whose tests end as given. */
async function ending(
  outcome: ReturnType<typeof exited>,
): Promise<{ resolved: boolean | null | undefined; reason: string | undefined }> {
  const { grades } = await new GradingWorld({ tests: (tree) => (tree === null ? honest(tree) : outcome) }).grade([
    candidate('right', RIGHT),
  ]);
  return { resolved: grades[0]?.resolved, reason: grades[0]?.reason };
}

describe('grading', () => {
  it('labels by FAIL_TO_PASS and PASS_TO_PASS, with the status of every test', async () => {
    const world = new GradingWorld({ tests: honest });
    const graded = await world.grade(CANDIDATES);
    expect(graded.grades).toMatchObject([
      {
        candidate_id: 'wrong',
        resolved: false,
        reason: `1 of 3 tests did not pass: "${MINUS}" failed`,
        tests: { [`${CALC}test_zero`]: 'passed', [`${CALC}test_sum`]: 'passed', [MINUS]: 'failed' },
      },
      { candidate_id: 'right', resolved: true, reason: 'all 3 tests passed' },
    ]);
    expect(graded).toMatchObject({ ungraded: [], leftOut: [] });
    expect(world.entered.map(({ candidate_id }) => candidate_id).sort()).toEqual(['right', 'wrong']);
    expect(world.sandbox.openNow).toBe(0);
  });

  it('puts the hidden tests into the container after the patch and after their files were restored', async () => {
    const world = new GradingWorld({ tests: honest });
    await world.grade([candidate('right', RIGHT)]);
    expect([...world.steps.values()]).toEqual([
      ['tests', 'test'],
      [`apply ${RIGHT}`, 'restore tests/test_calc.py tests/test_more.py', 'tests', 'test'],
    ]);
  });

  it.each([
    ['tests/test_calc.py', `${CALC}test_sum`],
    ['tests/test_calc.py', `tests/test_calc.py::TestSum::test_[a::b]`],
    ['src/tests/new_test.py', 'src/tests/new_test.py::test_sum'],
    ['tests/sum.rs', 'tests/sum.rs::adds'],
  ])('restores %s of the image, which the listed tests name, if there is no test patch', async (file, name) => {
    const world = new GradingWorld({ tests: honest });
    const row = { ...ROW, ...SMITH, FAIL_TO_PASS: [name, 'crate::sum::adds', `${CALC}test_sum`], PASS_TO_PASS: [] };
    await world.grade([candidate('right', RIGHT)], { row });
    const restored = [...world.steps.values()].flat().filter((step) => step.startsWith('restore'));
    const files = [...new Set([file, 'tests/test_calc.py'])].join(' ');
    // Those of gold, too, if it is run.
    expect(new Set(restored)).toEqual(new Set([`restore ${files}`]));
  });

  it("restores what the runner reads, and leaves the candidate's other files", async () => {
    const also = (path: string): string =>
      `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x = 1\n`;
    const patch = `${RIGHT}${also('conftest.py')}${also('tests/helper.py')}${also('tests/runtests.py')}`;
    const world = new GradingWorld({ tests: honest });
    await world.grade([candidate('a', patch)]);
    await world.grade([candidate('a', patch)], { command: 'python3 tests/runtests.py {modules}' });
    expect([...world.steps.values()].flat().filter((step) => step.startsWith('restore'))).toEqual([
      'restore tests/test_calc.py tests/test_more.py conftest.py',
      'restore tests/test_calc.py tests/test_more.py conftest.py tests/runtests.py',
    ]);
  });

  it("restores R2E-Gym's script, and replaces a patch's own folder of its tests", async () => {
    const added = (path: string): string =>
      `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1 @@\n+x = 1\n`;
    const world = new GradingWorld({ tests: honest });
    const row = { docker_image: CALCULATOR, repo_name: 'calc', expected_output_json: '{"test_sum": "PASSED"}' };
    await world.grade([candidate('a', added('run_tests.sh') + added('r2e_tests/test_1.py'))], { row });
    expect([...world.steps.values()].flat()).toContain('restore run_tests.sh');
    expect(world.requests.at(-1)?.argv[2]).toMatch(/\nrm -rf r2e_tests && ln -s \/r2e_tests r2e_tests && bash/);
  });

  it('takes one fresh container for every distinct patch', async () => {
    const world = new GradingWorld({ tests: honest });
    const twin = RIGHT.replace('--- a/', 'index 1111111..2222222 100644\n--- a/');
    const graded = await world.grade([...CANDIDATES, candidate('twin', twin)]);
    expect(told(graded)).toEqual({ wrong: false, right: true, twin: true });
    expect(world.sandbox.opens).toBe(1 + 2);
  });

  it('grades patches once that are equal after repair, and says whose text was repaired', async () => {
    const world = new GradingWorld({ tests: honest });
    const stub = 'diff --git a/t b/t\nindex 1..2\nBinary files a/t and b/t differ\n';
    const { grades } = await world.grade([candidate('stub', RIGHT + stub), candidate('right', RIGHT)]);
    expect(grades.map(({ reason }) => reason)).toEqual([
      'all 3 tests passed (read with stub-dropped)',
      'all 3 tests passed',
    ]);
    expect(world.sandbox.opens).toBe(1 + 1);
  });

  it('gives 0 to a patch that is empty, refused, or does not apply, with the reason', async () => {
    const world = new GradingWorld({ tests: honest, applies: (patch) => patch !== WRONG });
    const { grades } = await world.grade([
      candidate('empty', ' \n'),
      candidate('outside', RIGHT.replaceAll('calc.py', '../calc.py')),
      candidate('prose', 'I would change the sign.'),
      candidate('elsewhere', WRONG),
    ]);
    expect(grades.map(({ resolved, reason, tests }) => [resolved, reason, Object.keys(tests).length])).toEqual([
      [false, 'the patch is empty', 0],
      [false, expect.stringMatching(/^the patch is refused \(unsafe-path\)/), 0],
      [false, expect.stringMatching(/^the patch is refused \(unparsable\)/), 0],
      [false, 'the patch does not apply: error: patch failed: calc.py:1', 0],
    ]);
    expect(world.sandbox.opens).toBe(1 + 1);
  });

  it('gives 0 when the run exceeds its CPU time, memory or disk, whatever it printed', async () => {
    const { stdout } = pytest(ALL);
    for (const kind of ['out-of-memory', 'out-of-disk'] as const) {
      expect(await ending(ended(kind, stdout))).toMatchObject({ resolved: false });
    }
    const reason = 'the tests took more than 300 s of CPU time';
    expect(await ending(exited(OUT_OF_CPU, stdout))).toEqual({ resolved: false, reason });
  });

  it('gives 0 to tests that are skipped, broken, or not in the log', async () => {
    for (const status of ['SKIPPED', 'ERROR', 'XPASS']) {
      expect(await ending(pytest({ ...ALL, [MINUS]: status }))).toMatchObject({ resolved: false });
    }
    expect(await ending(exited(0))).toMatchObject({
      resolved: false,
      reason: expect.stringContaining('missing') as string,
    });
  });

  it('maintains a PASS_TO_PASS test that is skipped, also on base', async () => {
    const skipping = pytest({ ...ALL, [ZERO]: 'SKIPPED' });
    expect(await ending(skipping)).toMatchObject({ resolved: true });
    const graded = await new GradingWorld({ tests: () => skipping }).grade([candidate('a', RIGHT)]);
    expect(graded.leftOut).toEqual([]);
  });

  it.each([
    ['./gradlew test', '> Task :a:test FAILED\nA > adds FAILED\n'],
    ['mvn test', '[ERROR] A.adds:3 no\n[INFO] BUILD FAILURE\n'],
    ['npx jest', '  ✕ adds\n  ● Test suite failed to run\n'],
  ])('requires tests that %s did not reach on base', async (command, log) => {
    const row = { ...ROW, FAIL_TO_PASS: ['adds'], PASS_TO_PASS: ['net'] };
    const { leftOut } = await new GradingWorld({ tests: () => exited(1, log) }).grade([], { row, command });
    expect(leftOut).toEqual([]);
  });

  it('believes a log only as far as the exit code agrees', async () => {
    const { stdout } = pytest(ALL);
    expect(await ending(exited(0, stdout))).toMatchObject({ resolved: true });
    expect(await ending(exited(1, stdout))).toMatchObject({ resolved: false });
    expect(await ending(exited(137, `${stdout}FAILED other.py::test_x\n`))).toMatchObject({ resolved: false });
    expect(await ending(exited(1, `${stdout}FAILED other.py::test_x\n`))).toMatchObject({ resolved: true });
  });

  it.each([
    ['cargo test', 101, (name: string, ok: boolean) => `test ${name} ... ${ok ? 'ok' : 'FAILED'}`],
    ['ctest', 8, (name: string, ok: boolean) => `1/3 Test #1: ${name} ...${ok ? ' Passed' : '***Failed'}`],
    ['mocha', 3, (name: string, ok: boolean) => (ok ? `  ✓ ${name}` : `  1) ${name}`)],
  ])('believes %s with exit code %i if its log has failures, on base too', async (command, code, line) => {
    const row = { ...ROW, FAIL_TO_PASS: ['adds'], PASS_TO_PASS: ['net'] };
    const [net, late] = [line('net', false), line('late', false)];
    const grade = (lines: readonly string[]): Promise<Graded> => {
      const tests = (tree: string | null) =>
        exited(code, (tree === null ? [line('adds', false), net, late] : lines).join('\n'));
      return new GradingWorld({ tests }).grade([candidate('right', RIGHT)], { row, command });
    };
    const graded = await grade([line('adds', true), net, late]);
    expect(graded.leftOut).toEqual([{ name: 'net', on_base: 'failed' }]);
    expect(told(graded)).toEqual({ right: true });
    expect(told(await grade([line('adds', false), net, late]))).toEqual({ right: false });
    const { grades } = await grade([line('adds', true)]);
    expect(grades[0]?.reason).toContain(`exit code ${code}, which its log does not explain`);
  });

  it('holds nobody to a PASS_TO_PASS test that does not pass on base, and says so', async () => {
    const row = { ...ROW, PASS_TO_PASS: JSON.stringify([`${CALC}test_zero`, `${CALC}test_gone`, `${CALC}test_web`]) };
    const web = { [`${CALC}test_web`]: 'FAILED' };
    const world = new GradingWorld({ tests: (tree) => pytest({ ...(tree === null ? BASE : ALL), ...web }) });
    const graded = await world.grade([candidate('right', RIGHT)], { row });
    expect(told(graded)).toEqual({ right: true });
    expect(graded.leftOut).toEqual([
      { name: `${CALC}test_gone`, on_base: 'missing' },
      { name: `${CALC}test_web`, on_base: 'failed' },
    ]);
  });

  it('holds everybody to every test when the run on base cannot be believed', async () => {
    const world = new GradingWorld({ tests: (tree) => (tree === null ? exited(2) : pytest(ALL)) });
    const row = { ...ROW, PASS_TO_PASS: [`${CALC}test_zero`, `${CALC}test_gone`] };
    const graded = await world.grade([candidate('right', RIGHT)], { row });
    expect(told(graded)).toEqual({ right: null });
    expect(graded.grades[0]?.tests).toMatchObject({ [`${CALC}test_gone`]: 'missing' });
    expect(graded.leftOut).toEqual([]);
  });

  const tick = (name: string, ok = true): string => (ok ? `  ✓ ${name}` : `  1) ${name}`);
  const cargo = (name: string, ok = true): string => `test ${name} ... ${ok ? 'ok' : 'FAILED'}`;
  it.each([
    ['cargo test', 101, cargo, []],
    ['cargo test --no-fail-fast', 101, cargo, ['gone']],
    ['cargo test', 0, cargo, ['gone']],
    ['mocha', 13, tick, []],
    ['mocha', 2, tick, ['gone']],
    ['jest', 1, tick, ['gone']],
  ])(
    'holds everybody to tests that base may not have reached: %s with exit code %i',
    async (command, code, line, out) => {
      const row = { ...ROW, FAIL_TO_PASS: ['adds'], PASS_TO_PASS: ['net', 'gone'] };
      const log = [line('adds', false), line('net', false)].join('\n');
      const world = new GradingWorld({ tests: () => exited(code, log) });
      const { leftOut } = await world.grade([candidate('right', RIGHT)], { row, command });
      expect(leftOut.map(({ name }) => name)).toEqual(['net', ...out]);
    },
  );

  it.each([
    [139, 1, false],
    [139, 139, true],
    [160, 1, true],
  ])('takes exit code %i of Mocha for a signal, unless as many tests failed: %i', async (code, count, resolved) => {
    const row = { ...ROW, FAIL_TO_PASS: ['adds'], PASS_TO_PASS: [] };
    const others = Array.from({ length: count }, (_, index) => tick(`other ${index}`, false));
    const world = new GradingWorld({ tests: () => exited(code, [tick('adds'), ...others].join('\n')) });
    const graded = await world.grade([candidate('right', RIGHT)], { row, command: 'mocha' });
    expect(told(graded)).toEqual({ right: resolved });
  });

  it('refuses hidden tests that do not apply to the base', async () => {
    const world = new GradingWorld({ tests: honest, applies: (patch) => patch !== TEST_PATCH });
    await expect(world.grade(CANDIDATES)).rejects.toThrow(/"test_patch": does not apply to the image's repository/);
  });

  it('takes over a grade under the same key, and none after the tests changed', async () => {
    const { entered } = await (async () => {
      const world = new GradingWorld({ tests: honest });
      await world.grade(CANDIDATES);
      return world;
    })();
    const known = (key: string) => entered.find((grade) => grade.key === key) ?? null;
    const again = new GradingWorld({ tests: honest });
    expect(told(await again.grade(CANDIDATES, { known }))).toEqual({ wrong: false, right: true });
    expect(again.sandbox.opens).toBe(1);
    const changed = new GradingWorld({ tests: honest });
    await changed.grade(CANDIDATES, { known, row: { ...ROW, FAIL_TO_PASS: [MINUS] } });
    expect(changed.sandbox.opens).toBe(3);
  });
});

describe('infrastructure under grading', () => {
  it('repeats what was lost, in a fresh container', async () => {
    const world = new GradingWorld({ tests: honest });
    world.sandbox.failOpen(2, new SandboxLostError('removed')).failExec(5, new SandboxLostError('removed'));
    expect(told(await world.grade([candidate('right', RIGHT)]))).toEqual({ right: true });
    expect(world.pauses).toEqual([500, 2000]);
    expect(world.sandbox.openNow).toBe(0);
  });

  it('leaves the candidate without a label when it keeps failing', async () => {
    const losing = new GradingWorld({
      tests: (tree) => {
        if (tree === WRONG) throw new SandboxLostError('somebody removed it');
        return honest(tree);
      },
    });
    const graded = await losing.grade(CANDIDATES);
    expect(told(graded)).toEqual({ right: true });
    expect(graded.ungraded).toEqual([
      { candidate_id: 'wrong', reason: expect.stringContaining('somebody removed it') as string },
    ]);
  });

  it('labels only the candidates whose grade was stored', async () => {
    const enter = async ({ candidate_id }: CandidateGrade): Promise<void> => {
      if (candidate_id !== 'right') throw new SandboxLostError('the store is gone');
    };
    const twin = candidate('twin', RIGHT);
    const graded = await new GradingWorld({ tests: honest }).grade([...CANDIDATES, twin], { enter });
    expect(told(graded)).toEqual({ right: true });
    expect(graded.ungraded.map(({ candidate_id }) => candidate_id)).toEqual(['wrong', 'twin']);
  });

  it('throws what concerns all, and gives nobody a label', async () => {
    const world = new GradingWorld({ tests: honest });
    world.sandbox.failOpen(1, new ImageMissingError('my/calc:1'));
    await expect(world.grade(CANDIDATES)).rejects.toThrow(ImageMissingError);
    expect(world.entered).toEqual([]);
  });

  it('ends when interrupted, with every container closed', async () => {
    const stop = new AbortController();
    const world = new GradingWorld({
      tests: async (tree) => {
        if (tree === null) return honest(tree);
        stop.abort(new InterruptedError());
        return new Promise(() => undefined);
      },
    });
    await expect(world.grade([candidate('right', calcPatch('x = 1'))], {}, stop.signal)).rejects.toThrow(
      InterruptedError,
    );
    expect(world.sandbox.openNow).toBe(0);
  });
});
