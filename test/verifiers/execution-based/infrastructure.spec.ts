import { EngineUnavailableError, ImageMissingError, SandboxLostError } from '../../../src/core/unavailable.js';
import type { Candidate } from '../../../src/core/candidate.js';
import type { Issue } from '../../../src/core/issue.js';
import type { Verdict } from '../../../src/core/verdict.js';
import { createExecutionBasedVerifier } from '../../../verifiers/execution-based/execution-based.js';
import { FakeSandbox, type FakeHandler } from '../../fakes/fake-sandbox.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { Observing } from '../../fakes/observing.js';
import { playSuite } from '../../fakes/suite-player.js';
import { calcTest, calculatorIssue, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';

const TESTS = [calcTest('one', 'add(2, 3) == 5'), calcTest('two', 'add(-2, 3) == 1')];
const HONEST = playSuite({
  test: (tree, content) => (tree === RIGHT || (tree === WRONG && content.includes('(2, 3)')) ? 0 : 2),
  regression: () => ({ 'test_calc::zero': 'passed', 'test_calc::odd': 'failed' }),
});
const CANDIDATES = [candidate('right', RIGHT), candidate('wrong', WRONG), candidate('twin', RIGHT)];

interface World {
  readonly sandbox: FakeSandbox;
  readonly results?: MemoryResultStore;
  readonly issue?: Issue;
  readonly candidates?: readonly Candidate[];
  readonly signal?: AbortSignal;
}

let nonce = 0;

async function verify(world: World): Promise<{ verdicts: readonly Verdict[]; observed: Observing }> {
  const observed = new Observing();
  const { sandbox, results = new MemoryResultStore(), issue = calculatorIssue, candidates = CANDIDATES } = world;
  const verifier = createExecutionBasedVerifier({
    sandbox,
    results,
    observe: observed,
    nonce: () => String((nonce += 1)).padStart(48, '0'),
    pause: async () => undefined,
  });
  const task = { issue, candidates, tests: TESTS };
  return { verdicts: await verifier.verify(task, world.signal ?? new AbortController().signal), observed };
}

function told(verdicts: readonly Verdict[]): Record<string, string> {
  return Object.fromEntries(
    verdicts.map((verdict) => [
      `${verdict.candidate_id} ${verdict.measure}`,
      verdict.kind === 'scored' ? `${verdict.score}/${verdict.out_of}` : verdict.reason,
    ]),
  );
}

const ALL_SCORED = {
  'right regression': '1/1',
  'right reproduction': '2/2',
  'wrong regression': '1/1',
  'wrong reproduction': '1/2',
  'twin regression': '1/1',
  'twin reproduction': '2/2',
};

/** Loses the sandbox whenever the tree is the wrong patch. */
function losing(times: number): FakeHandler {
  let left = times;
  return (request, session) => {
    const outcome = HONEST(request, session);
    const onWrong = request.argv.includes('apply') && request.stdin === WRONG;
    if (onWrong && left > 0) {
      left -= 1;
      throw new SandboxLostError('somebody removed it');
    }
    return outcome;
  };
}

describe('infrastructure under the execution-based verifier', () => {
  it('verifies equal patches once and scores each under its own id', async () => {
    const sandbox = new FakeSandbox(HONEST);
    const { verdicts, observed } = await verify({ sandbox });
    expect(told(verdicts)).toEqual(ALL_SCORED);
    // One asks git; base and two distinct patches, two suites each, base twice.
    expect(sandbox.opens).toBe(1 + 2 * 2 + 2 * 2);
    expect(observed.cells.filter(({ candidate_id }) => candidate_id === 'twin')).toHaveLength(3);
    expect(sandbox.openNow).toBe(0);
  });

  it('repeats what was lost, in a fresh sandbox', async () => {
    const sandbox = new FakeSandbox(losing(2));
    expect(told((await verify({ sandbox })).verdicts)).toEqual(ALL_SCORED);
    expect(sandbox.openNow).toBe(0);
  });

  it('makes the one candidate abstain whose sandboxes keep being lost', async () => {
    const sandbox = new FakeSandbox(losing(1_000));
    const { verdicts } = await verify({ sandbox });
    expect(told(verdicts)).toEqual({
      ...ALL_SCORED,
      'wrong regression': 'infrastructure',
      'wrong reproduction': 'infrastructure',
    });
    expect(sandbox.openNow).toBe(0);
  });

  it.each([
    ['a missing image', new ImageMissingError('bestk/none:1'), 1],
    ['a dead engine', new EngineUnavailableError('connect ECONNREFUSED'), 3],
  ])('ends with %s, and leaves no session', async (_name, fault, attempts) => {
    const sandbox = new FakeSandbox(HONEST);
    for (let nth = 1; nth <= 100; nth += 1) sandbox.failOpen(nth, fault);
    await expect(verify({ sandbox })).rejects.toBe(fault);
    expect(sandbox.opens).toBeGreaterThanOrEqual(attempts);
    expect(sandbox.openNow).toBe(0);
  });

  it('never executes a stored result again', async () => {
    const results = new MemoryResultStore();
    const first = await verify({ sandbox: new FakeSandbox(HONEST), results });
    const idle = new FakeSandbox(HONEST);
    expect(told((await verify({ sandbox: idle, results })).verdicts)).toEqual(told(first.verdicts));
    expect(idle.opens).toBe(0);
    const more = new FakeSandbox(HONEST);
    await verify({
      sandbox: more,
      results,
      candidates: [...CANDIDATES, candidate('new', WRONG.replace('abs(a) + b', 'b'))],
    });
    expect(more.opens).toBe(3);
  });

  it('keeps what was finished when it is aborted, and closes every session', async () => {
    const results = new MemoryResultStore();
    const stop = new AbortController();
    const sandbox = new FakeSandbox((request, session) => {
      if (request.argv.includes('apply')) stop.abort(new Error('stopped'));
      return HONEST(request, session);
    });
    await expect(verify({ sandbox, results, signal: stop.signal })).rejects.toThrow('stopped');
    await new Promise((resolve) => setImmediate(resolve));
    expect(sandbox.openNow).toBe(0);
    expect(told((await verify({ sandbox: new FakeSandbox(HONEST), results })).verdicts)).toEqual(ALL_SCORED);
  });

  it('abstains where there is nothing to hold anybody to', async () => {
    const bare = { ...calculatorIssue, environment: { ...calculatorIssue.environment, regression_command: null } };
    const unnamed = await verify({ sandbox: new FakeSandbox(HONEST), issue: bare });
    expect(told(unnamed.verdicts)).toMatchObject({ 'right regression': 'no-tests', 'right reproduction': '2/2' });
    const failing = playSuite({ test: () => 0, regression: () => ({ 'test_calc::zero': 'failed' }) });
    const { verdicts, observed } = await verify({ sandbox: new FakeSandbox(failing) });
    expect(told(verdicts)).toMatchObject({ 'right regression': 'no-tests', 'right reproduction': 'no-tests' });
    expect(observed.admissions.every(({ admitted }) => !admitted)).toBe(true);
  });

  it('refuses a test that is not stable on base, and keeps only stable passes', async () => {
    let runs = 0;
    const flaky = playSuite({
      test: (tree, content) =>
        tree === null && content.includes('-2') ? (runs++ % 2 === 0 ? 2 : 1) : tree === null ? 2 : 0,
      regression: (tree) => ({
        steady: 'passed',
        flaky: tree === null && runs > 1 ? 'failed' : 'passed',
        skipped: 'skipped',
      }),
    });
    const { observed } = await verify({ sandbox: new FakeSandbox(flaky) });
    expect(observed.admissions).toEqual([
      { test_id: 'one', admitted: true, reason: null },
      { test_id: 'two', admitted: false, reason: expect.stringContaining('not stable on base') as string },
    ]);
  });

  it('says which patches do not apply', async () => {
    const handler = playSuite({ applies: (patch) => patch !== WRONG });
    const { verdicts } = await verify({ sandbox: new FakeSandbox(handler) });
    expect(told(verdicts)).toMatchObject({
      'wrong regression': 'does-not-apply',
      'wrong reproduction': 'does-not-apply',
    });
  });
});
