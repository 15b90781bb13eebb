import { placesOf } from '../../../../verifiers/execution-based/existing/failing-test.js';
import { heldUp, regressionSet } from '../../../../verifiers/execution-based/existing/regression-set.js';
import type { RegressionRun } from '../../../../verifiers/execution-based/existing/run-regression.js';

const run = (more: Partial<RegressionRun>): RegressionRun => ({
  outcome: 'exited',
  exit_code: 0,
  duration_ms: 1,
  passed: ['t::a', 't::b'],
  failed: [],
  skipped: [],
  reported: false,
  changed: [],
  isolated: true,
  control: 'absent',
  writes: [],
  log_tail: '',
  ...more,
});

describe('a run of the existing tests', () => {
  it('is held to what passed on base both times', () => {
    const set = regressionSet([run({}), run({ passed: ['t::a'], failed: ['t::b'] })]);
    expect(heldUp(set, run({}))).toEqual({ passed: 1, lost: [] });
    expect(heldUp(set, run({ passed: ['t::b', 't::c'] }))).toEqual({ passed: 0, lost: ['t::a'] });
  });

  it('gains nothing by a report where the probe saw the tests of base', () => {
    const set = regressionSet([run({}), run({})]);
    expect(heldUp(set, run({ reported: true }))).toEqual({ passed: 0, lost: ['t::a', 't::b'] });
  });

  it('may be known by its report where that of base is, too', () => {
    const set = regressionSet([run({ reported: true }), run({ reported: true })]);
    expect(heldUp(set, run({ reported: true }))).toEqual({ passed: 2, lost: [] });
  });

  it('is worth nothing where the runner was changed', () => {
    const set = regressionSet([run({}), run({})]);
    expect(heldUp(set, run({ changed: ['pytest.fixture'] })).passed).toBe(0);
  });
});

it('a failing test has its place where tests of pytest, unittest and Django stand', () => {
  const tests = ['tests/a.py::test_x[a::b]', 'tests/a.py::C::test_y', 'app.tests.test_b.Case.test_z', 'doctest'];
  expect(placesOf(tests)).toEqual(['tests/a.py', 'app.tests.test_b']);
});
