import { type AbstainReason, EXECUTION_FREE, type Verdict } from '../../../src/core/run/verdict.js';
import { describeCandidates, poolInput, returnedPatch } from '../../../src/runs/entries.js';
import { Pool } from '../../../verifiers/hybrid/pool.js';
import { findPreset } from '../../../verifiers/hybrid/presets.js';
import { ruleOf, selectBest } from '../../../verifiers/hybrid/select.js';
import { score, withdrawUnverified } from '../../../src/runs/score.js';
import type { Selection } from '../../../src/core/run/run-result.js';
import { ModelUnavailableError } from '../../../src/core/errors/unavailable.js';
import type { Verifier } from '../../../src/core/run/verifier.js';
import { calculatorIssue, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';

function scored(candidate_id: string, measure: Verdict['measure'], value: number): Verdict {
  return { kind: 'scored', candidate_id, measure, score: value, out_of: 10, evidence: {} };
}

function abstained(candidate_id: string, measure: Verdict['measure'], reason: AbstainReason): Verdict {
  return { kind: 'abstained', candidate_id, measure, reason, detail: 'because', evidence: {} };
}

describe('candidates as the hybrid sees them', () => {
  it('joins verdicts by id, whatever their order, and knows unknown from zero', () => {
    const candidates = [candidate('a', RIGHT), candidate('b', WRONG), candidate('c', RIGHT), candidate('d', '')];
    const verdicts = [
      scored('b', 'regression', 0),
      scored('a', 'execution_free', 0.9),
      abstained('b', 'execution_free', 'model-unavailable'),
    ];
    const described = describeCandidates(candidates, verdicts, '');
    expect(described.map(({ entry }) => [entry.id, entry.execution_free, entry.regression, entry.applies])).toEqual([
      ['a', 0.9, null, null],
      ['b', null, 0, true],
      ['c', null, null, null],
      ['d', null, null, null],
    ]);
    expect(described.map(({ flags }) => flags)).toEqual([
      [],
      ['abstained:execution_free:model-unavailable'],
      ['same-patch-as:a'],
      ['empty-patch'],
    ]);
    expect(described[0]?.entry.fingerprint).toBe(described[2]?.entry.fingerprint);
  });

  it('counts diffs of the same change as equal votes, and verifies each by itself', () => {
    const head = 'diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n';
    const diffs = [
      `${head}@@ -3,3 +3,3 @@\n c\n-d\n+D\n e\n`,
      `${head}@@ -2,5 +2,5 @@\n b\n c\n-d\n+D\n e\n f\n`,
      `${head}@@ -4,1 +4,1 @@\n-d\n+D\n`,
    ];
    const other = `${head}@@ -2,5 +2,5 @@\n b\n-c\n+C\n d\n e\n f\n`;
    const described = describeCandidates(
      [...diffs, other, other].map((patch, index) => candidate(`c${String(index)}`, patch)),
      [],
      '',
    );
    const input = poolInput(calculatorIssue.instance_id, described, []);
    const { candidate_id } = selectBest(input, ruleOf(findPreset('majority')));
    expect(candidate_id).toBe('c0');
    const pool = new Pool(input);
    expect(pool.entries.map((entry) => pool.measure(entry, 'cluster_size'))).toEqual([3, 3, 3, 2, 2]);
    expect(pool.right('c0')).toBeGreaterThan(pool.right('c3'));
    expect(described.map(({ flags }) => flags)).toEqual([[], [], [], [], ['same-patch-as:c3']]);
  });

  it('takes a patch for what was executed, and names its repairs', () => {
    const applied_as = { patch: RIGHT, repairs: ['crlf', 'fuzz-1'] };
    const verdicts = [{ ...scored('a', 'reproduction', 1), evidence: { applied_as } }];
    const candidates = [candidate('a', WRONG), candidate('b', RIGHT)];
    const [first, second] = describeCandidates(candidates, verdicts, '');
    expect([first?.flags, second?.flags]).toEqual([['applied:crlf', 'applied:fuzz-1'], ['same-patch-as:a']]);
    expect(first?.entry.fingerprint).toBe(second?.entry.fingerprint);
    const returned = (id: string): string | null =>
      returnedPatch(candidates, verdicts, { selection: { candidate_id: id } as Selection, statement: '' });
    expect([returned('a'), returned('b'), returned('none')]).toEqual([RIGHT, RIGHT, null]);
  });

  it('returns a patch as it was read if it had to be repaired for that', () => {
    const stub = 'diff --git a/t b/t\nindex 1..2\nBinary files a/t and b/t differ\n';
    const candidates = [candidate('a', RIGHT + stub)];
    expect(describeCandidates(candidates, [], '')[0]?.flags).toEqual(['applied:stub-dropped']);
    const selection = { candidate_id: 'a' } as Selection;
    expect(returnedPatch(candidates, [], { selection, statement: '' })).toBe(RIGHT);
  });

  it('says what a patch itself may have kept from being known', () => {
    const verdicts = [
      abstained('a', 'regression', 'infrastructure'),
      abstained('a', 'execution_free', 'prompt-too-long'),
      abstained('b', 'execution_free', 'infrastructure'),
      { ...abstained('b', 'regression', 'infrastructure'), evidence: { starved: true } },
      abstained('b', 'reproduction', 'no-tests'),
      abstained('c', 'ef:pairs@m', 'refused-patch'),
      abstained('c', 'regression', 'refused-patch'),
    ];
    const candidates = [candidate('a', RIGHT), candidate('b', WRONG), candidate('c', WRONG)];
    const lost = describeCandidates(candidates, verdicts, '').map(({ entry }) => entry.lost);
    expect(lost).toEqual([['regression', 'execution_free'], undefined, ['ef:pairs@m']]);
  });

  it('flags a patch whose files of the image were set apart, and returns none that is nothing else or renames source to one', () => {
    const apart = { ...scored('a', 'regression', 1), evidence: { set_apart: ['.venv/bin/sh'] } };
    const gaps = [abstained('b', 'regression', 'no-source-change'), abstained('c', 'regression', 'refused-patch')];
    const candidates = ['a', 'b', 'c'].map((id) => candidate(id, RIGHT));
    const described = describeCandidates(candidates, [apart, ...gaps], '');
    expect(described[0]?.flags).toEqual(['image-files-set-apart']);
    expect(described.map(({ entry }) => entry.has_source_change)).toEqual([true, false, true]);
    expect(described.map(({ entry }) => entry.applies)).toEqual([true, null, false]);
  });

  it('flags who was executed by no test, but for a reason of its own', () => {
    const gap = [abstained('a', 'regression', 'no-tests'), abstained('a', 'reproduction', 'no-tests')];
    const flags = (verdicts: readonly Verdict[]): readonly string[] | undefined =>
      describeCandidates([candidate('a', RIGHT)], verdicts, '')[0]?.flags;
    expect(flags(gap)).toContain('not-executed');
    expect(flags([gap[0] ?? scored('a', 'regression', 1), scored('a', 'reproduction', 1)])).toEqual([]);
    expect(flags([abstained('a', 'regression', 'does-not-apply')])).toEqual(['does-not-apply']);
  });

  it('puts who solved a control behind those whose controls failed, and only behind those', () => {
    const doubted = abstained('a', 'reproduction', 'control-solved');
    const both = [candidate('a', RIGHT), candidate('b', WRONG)];
    const beside = (verdict: Verdict): unknown[] =>
      describeCandidates(both, [doubted, verdict], '').map(({ entry, flags }) => [entry.applies, flags.at(0)]);
    const other = (control: string): Verdict => ({ ...scored('b', 'reproduction', 1), evidence: { control } });
    for (const control of ['failed', 'unfit']) {
      expect(beside(other(control))).toEqual([
        [false, 'control-solved'],
        [true, undefined],
      ]);
    }
    for (const verdict of [
      other('none'),
      { ...other('failed'), measure: 'regression' },
      scored('b', 'regression', 1),
    ]) {
      expect(beside(verdict)).toEqual([
        [null, 'control-solved'],
        [true, undefined],
      ]);
    }
  });

  it('returns a fix in a manifest alone when the issue is about it, and says so; else it says why not', () => {
    const patch = RIGHT.replaceAll('calc.py', 'setup.cfg');
    const told = (statement: string): unknown => {
      const [described] = describeCandidates([candidate('a', patch)], [], statement);
      return [described?.entry.has_source_change, described?.flags];
    };
    expect(told('setup.cfg asks for too old a Python.')).toEqual([true, ['manifest-verified:setup.cfg']]);
    expect(told('add() subtracts.')).toEqual([false, ['no-source-change', 'runner-config-files-set-apart']]);
  });

  it('reads how the agent ended', () => {
    const ending = (exit_reason: string | null): boolean | null | undefined =>
      describeCandidates([{ ...candidate('a', RIGHT), trajectory: { steps: [], exit_reason } }], [], '')[0]?.entry
        .finished;
    expect(['agent', 'Submitted', 'max_step_limit', 'abs_step_limit', null].map(ending)).toEqual([
      true,
      true,
      true,
      false,
      null,
    ]);
  });
});

describe('scoring', () => {
  const task = { issue: calculatorIssue, candidates: [candidate('a', RIGHT)], tests: [] };
  const verifier = (verdicts: () => Promise<readonly Verdict[]>): Verifier => ({
    name: 'played',
    measures: [EXECUTION_FREE],
    verify: verdicts,
  });

  const quiet = { emit: async () => undefined, outOfTime: null };

  it('ends the run when the model answered for nobody', async () => {
    const silent = verifier(async () => [abstained('a', 'execution_free', 'model-unavailable')]);
    await expect(score([silent], task, quiet, new AbortController().signal)).rejects.toThrow(ModelUnavailableError);
  });

  it('takes a verifier that the time of the run cuts off for one that abstained', async () => {
    const slow: Verifier = {
      ...verifier(async () => []),
      verify: (_task, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reject(signal.reason as Error);
          });
        }),
    };
    const over = AbortSignal.timeout(20);
    const { verdicts } = await score([slow], task, { ...quiet, outOfTime: over }, new AbortController().signal);
    expect(verdicts.map(({ kind, candidate_id }) => [kind, candidate_id])).toEqual(
      task.candidates.map(({ candidate_id }) => ['abstained', candidate_id]),
    );
    expect(verdicts[0]).toMatchObject({ reason: 'budget-spent' });
  });

  it('stops the others when one fails, and waits until they have stopped', async () => {
    let stopped = false;
    const failing = verifier(async () => Promise.reject(new Error('broken')));
    const slow: Verifier = {
      ...verifier(async () => []),
      verify: (_task, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            stopped = true;
            reject(signal.reason as Error);
          });
        }),
    };
    await expect(score([slow, failing], task, quiet, new AbortController().signal)).rejects.toThrow('broken');
    expect(stopped).toBe(true);
  });
});

/** A rule that compares candidates by verdicts. */
const preset = { stages: [{ stage: 'max' as const, by: 'regression', within: 0 }] };

describe('a run in which nothing was executed', () => {
  const made: Selection = {
    ...{ instance_id: 'i', candidate_id: 'a', basis: 'fallback', deciding_stage: 'lowest-id', confidence: 0.5 },
    ...{ why_none: null, notes: [], ranking: [], stages: [] },
  };
  const gap = [
    abstained('a', 'regression', 'no-tests'),
    abstained('b', 'regression', 'does-not-apply'),
    abstained('a', 'reproduction', 'no-tests'),
  ];

  it('returns no patch without a judge, and says what to give', () => {
    const { candidate_id, basis, why_none } = withdrawUnverified(made, gap, ['eb'], preset);
    expect([candidate_id, basis]).toEqual([null, 'none']);
    expect(why_none).toMatch(
      /^nothing was executed \(regression: because; reproduction: because\): supply tests .*--tests/,
    );
  });

  it('says so beside what a judge decided', () => {
    const judged = [...gap, scored('a', 'execution_free', 0.5)];
    const { candidate_id, notes } = withdrawUnverified(made, judged, ['ef', 'eb'], preset);
    expect(candidate_id).toBe('a');
    expect(notes).toEqual(['not executed: regression: because; reproduction: because']);
  });

  it('is no run of which one suite said something, or whose patches do not apply', () => {
    expect(withdrawUnverified(made, [...gap, scored('b', 'reproduction', 0)], ['eb'], preset)).toBe(made);
    expect(withdrawUnverified(made, [abstained('a', 'regression', 'does-not-apply')], ['eb'], preset)).toBe(made);
  });
});

describe('a run without any verdict', () => {
  const made: Selection = {
    ...{ instance_id: 'i', candidate_id: 'a', basis: 'fallback', deciding_stage: 'lowest-id', confidence: 0.5 },
    ...{ why_none: null, notes: [], ranking: [], stages: [] },
  };
  const unreadable = [
    abstained('a', 'execution_free', 'unreadable-answer'),
    abstained('b', 'execution_free', 'unreadable-answer'),
  ];

  it.each<[string, readonly Verdict[], string]>([
    ['a judge that nobody can read', unreadable, 'execution_free unreadable-answer for 2 (first: because)'],
    [
      'lost containers',
      [abstained('a', 'regression', 'infrastructure'), abstained('b', 'regression', 'does-not-apply')],
      'regression infrastructure for 1 (first: because)',
    ],
    [
      'judge and tests that are both silent',
      [...unreadable, abstained('a', 'regression', 'no-tests'), abstained('a', 'reproduction', 'no-tests')],
      'execution_free unreadable-answer for 2 (first: because); regression no-tests for 1',
    ],
    ['a spent budget', [abstained('a', 'execution_free', 'budget-spent')], 'execution_free budget-spent for 1'],
  ])('returns no patch and no confidence: %s', (_, verdicts, cause) => {
    const selection = withdrawUnverified(made, verdicts, ['ef', 'eb'], preset);
    expect(selection).toMatchObject({ candidate_id: null, basis: 'none', deciding_stage: null, confidence: null });
    expect(selection.why_none).toContain(`no verifier gave a verdict on any candidate: ${cause}`);
  });

  it('keeps the selection of a rule that needs no verdict', () => {
    const shortest = { stages: [{ stage: 'min' as const, by: 'patch_size', within: 0 }] };
    expect(withdrawUnverified(made, unreadable, ['ef'], shortest)).toBe(made);
    expect(withdrawUnverified(made, [], [], preset)).toBe(made);
  });

  it('keeps a selection with one verdict, whatever else is unknown', () => {
    expect(withdrawUnverified(made, [...unreadable, scored('b', 'regression', 0)], ['ef', 'eb'], preset)).toBe(made);
  });
});
