import type { ExecRequest } from '../../../../src/ports/sandbox.js';
import { placesOf } from '../../../../verifiers/execution-based/existing/failing-test.js';
import { heldUp, regressionSet } from '../../../../verifiers/execution-based/existing/regression-set.js';
import {
  ended,
  exited,
  type FakeHandler,
  FakeSandbox,
  type FakeSessionView,
  neverStarted,
} from '../../../fakes/fake-sandbox.js';
import { playSuite } from '../../../fakes/suite-player.js';
import { told, verifierOn } from '../../../fakes/verifier-on.js';
import { calculatorIssue, candidate, RIGHT } from '../../../fixtures/calculator.js';
import { go } from '../../../fixtures/sandbox-commands.js';
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

/** The score of one patch, with tests in two files. */
async function scoreOf(play: FakeHandler): Promise<number | string | undefined> {
  const environment = { ...calculatorIssue.environment, regression_files: ['tests/a.py', 'tests/b.py'] };
  const issue = { ...calculatorIssue, environment };
  const task = { issue, candidates: [candidate('right', RIGHT)], tests: [] };
  return told(await verifierOn(new FakeSandbox(play)).verify(task, go)).right?.regression;
}

it.each([
  ['restarts them', exited(1)],
  ['leaves room for no other', neverStarted()],
])('a patch that leaves processes and %s passes nothing', async (_, outcome) => {
  const trees = new WeakSet<FakeSessionView>();
  const play = playSuite({ regression: () => ({ a: 'passed', b: 'passed' }) });
  const score = await scoreOf((request, session) => {
    if (request.argv.includes('apply') && !request.argv.includes('--check')) trees.add(session);
    const isEnding = request.argv.join(' ').includes('kill -STOP');
    return isEnding && trees.has(session) ? outcome : play(request, session);
  });
  expect(score).toBe(0);
});

type Statuses = Readonly<Record<string, string>>;
const [A, B] = ['tests/a.py::test_a', 'tests/b.py::test_b'];
const ran = (control: string, status = 'failed'): Statuses => ({
  ...{ [A]: 'passed', [B]: 'passed' },
  [`${control}::test_planted`]: status,
});

describe('existing tests are run again', () => {
  it.each([
    ['all of them, when the files of those that a patch lost have no place for the control', null, 2, ['alone', 'all']],
    ['no others, when those that a patch lost meet a limit', ended('out-of-memory'), 1, ['alone']],
  ])('%s', async (_, outcome, wanted, again) => {
    const asked: string[] = [];
    const score = await scoreOf((request, session) => {
      const command = request.argv.join(' ');
      const isWhole = command.includes('tests/b.py');
      // Only tests/b.py defines a test, after which the control is named.
      if (command.includes('pick()')) return exited(0, isWhole ? 'test_planted test_planted\ntests/b.py' : '');
      if (request.env?.BESTK_PROBE !== undefined) {
        asked.push(isWhole ? 'all' : 'alone');
        if (!isWhole && outcome !== null) return outcome;
      }
      const lost = { 'tests/a.py::inherited': asked.length === 3 ? 'failed' : 'passed' };
      const planted = isWhole ? { 'tests/b.py::test_b': 'passed', 'tests/b.py::test_planted': 'failed' } : {};
      return playSuite({ regression: () => ({ ...lost, ...planted }) })(request, session);
    });
    expect(score).toBe(wanted);
    expect(asked).toEqual(['all', 'all', 'all', ...again]);
  });

  it.each<[string, (run: number, control: string) => Statuses, number | string, number]>([
    ['with the control if the runner crashed', (run, control) => (run === 1 ? {} : ran(control)), 2, 2],
    [
      'with it if the runner crashed on the way',
      (run, control) => (run === 1 ? { [A]: 'passed' } : ran(control)),
      2,
      2,
    ],
    [
      'with the control in a file that ran, if a patch keeps the last one from being loaded',
      (_, control) => ({ [A]: 'passed', ...(control === 'tests/a.py' && { [`${control}::test_planted`]: 'failed' }) }),
      1,
      3,
    ],
    [
      'without counting what passes only where the control is not',
      (_, control) => (control === 'tests/a.py' ? ran(control) : { [A]: 'passed' }),
      1,
      3,
    ],
    [
      'for a control that is forged wherever it is, with its file',
      (_, control) => (control === 'tests/a.py' ? ran(control, 'passed') : { [A]: 'passed' }),
      'forged',
      4,
    ],
    [
      'for a forged control, which a crash does not excuse',
      (run, control) => (run === 1 ? ran(control, 'passed') : {}),
      'forged',
      2,
    ],
    ['for a control with the name of a test', (run, control) => ran(control, run === 1 ? 'passed' : 'failed'), 2, 2],
    ['for a forged control, once', (_, control) => ran(control, 'passed'), 'forged', 2],
  ])('%s', async (_, statuses, wanted, runs) => {
    const planted = new WeakMap<FakeSessionView, string>();
    const trees = new WeakSet<FakeSessionView>();
    let run = 0;
    const score = await scoreOf((request, session) => {
      const file = planted.get(session) ?? '';
      if (request.argv.includes('apply') && !request.argv.includes('--check')) trees.add(session);
      if (request.argv.join(' ').includes('pick()')) {
        planted.set(session, request.argv.at(-1) ?? '');
        return exited(0, `test_planted test_planted\n${planted.get(session)}`);
      }
      if (request.env?.BESTK_PROBE !== undefined && trees.has(session)) run += 1;
      return playSuite({ regression: () => (trees.has(session) ? statuses(run, file) : ran(file)) })(request, session);
    });
    expect([score, run]).toEqual([wanted, runs]);
  });

  it('never after the wall-clock limit, if no test passes on base', async () => {
    const trees = new WeakSet<FakeSessionView>();
    let runs = 0;
    const score = await scoreOf((request, session) => {
      if (request.argv.includes('apply') && !request.argv.includes('--check')) trees.add(session);
      const isRun = request.env?.BESTK_PROBE !== undefined && trees.has(session);
      return isRun && (runs += 1) > 0 ? ended('timed-out') : playSuite({})(request, session);
    });
    expect([score, runs]).toEqual(['no-tests', 1]);
  });

  it('as the user that the others run as, who may write where base wrote', async () => {
    const told: string[] = [];
    const opened = new WeakSet<FakeSessionView>();
    const score = await scoreOf((request, session) => {
      const command = request.argv.join(' ');
      if (command.includes('-newer')) session.files.set(`${request.argv[4]}.list`, Buffer.from('/srv/out\n'));
      if (command.includes('o+rwxt')) opened.add(session);
      if (request.env?.BESTK_PROBE !== undefined) {
        told.push(
          `${command.includes('tests/b.py') ? 'all' : 'alone'} ${request.as ?? 'image'} ${opened.has(session)}`,
        );
      }
      return playSuite({ regression: () => ({ [A]: told.length === 3 ? 'failed' : 'passed', [B]: 'passed' }) })(
        request,
        session,
      );
    });
    expect(score).toBe(2);
    expect(told).toEqual(['all image false', 'all tests true', 'all tests true', 'alone tests true']);
  });

  it('as the image’s own user, if the others have to be', async () => {
    const told: string[] = [];
    const trees = new WeakSet<FakeSessionView>();
    let failed = false;
    const isLost = ({ as, env }: ExecRequest, session: FakeSessionView): boolean => {
      if (as === 'tests') return true;
      const isFirst = env?.BESTK_PROBE !== undefined && trees.has(session) && !failed;
      failed ||= isFirst;
      return isFirst;
    };
    const score = await scoreOf((request, session) => {
      if (request.argv.includes('apply') && !request.argv.includes('--check')) trees.add(session);
      if (request.env?.BESTK_PROBE !== undefined) {
        const isAlone = !request.argv.join(' ').includes('tests/b.py');
        told.push(`${isAlone ? 'alone' : 'all'} ${request.as ?? 'image'}`);
      }
      const first = isLost(request, session) ? 'failed' : 'passed';
      return playSuite({ regression: () => ({ [A]: first, [B]: 'passed' }) })(request, session);
    });
    expect(score).toBe(2);
    expect(told.slice(-2)).toEqual(['all image', 'alone image']);
  });

  it('in a fresh container, when processes that they left do not end in time', async () => {
    const play = playSuite({ regression: () => ({ a: 'passed', b: 'passed' }) });
    let ends = 0;
    const score = await scoreOf((request, session) => {
      const isEnding = request.argv.join(' ').includes('kill -STOP');
      return isEnding && (ends += 1) % 2 === 1 ? ended('timed-out') : play(request, session);
    });
    expect(score).toBe(2);
    // Base as the tests' user, and the patch: twice each.
    expect(ends).toBe(4);
  });
});
