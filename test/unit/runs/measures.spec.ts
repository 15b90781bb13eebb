import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadOwnVerifiers } from '../../../src/app/own-verifiers.js';
import {
  EXECUTION_FREE,
  judgeMeasure,
  type Measure,
  MeasureName,
  measuresShown,
  type Verdict,
} from '../../../src/core/run/verdict.js';
import type { Candidate } from '../../../src/core/run/candidate.js';
import { runRequest } from '../../../src/core/run/run-request.js';
import { readScoreMatrix } from '../../../src/io/inputs/score-matrix.js';
import { scoresOf } from '../../../src/reports/set-files.js';
import { StageTelemetry } from '../../../src/runs/instrumented-executor.js';
import { describeCandidates } from '../../../src/runs/entries.js';
import { checkRequest } from '../../../src/runs/check-request.js';
import { VerifierQuality } from '../../../src/statistics/intervals/ranking-quality.js';
import { Curves } from '../../../src/statistics/curves/curves.js';
import { DEFAULT_BEST } from '../../../src/statistics/curves/best-at-k.js';
import type { ScoredIssue } from '../../../src/statistics/curves/scored-issue.js';
import { findPreset, parsePreset } from '../../../verifiers/hybrid/presets.js';
import { ruleOf, selectBest } from '../../../verifiers/hybrid/select.js';
import type { VerifierPorts } from '../../../verifiers/index.js';
import { calculatorIssue, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';
import { NoRunDependencies } from '../http/http-world.js';

const AGENT = 'ef:agent@some/model:free';
const RISK = 'risk:public-api';

function scored(candidate_id: string, measure: string, score: number, out_of = 1): Verdict {
  return { kind: 'scored', candidate_id, measure, score, out_of, evidence: {} };
}

const VERDICTS = [
  scored('a', AGENT, 0.25),
  scored('a', 'ef:yes-no', 0.75),
  scored('a', RISK, 7, 10),
  scored('b', AGENT, 3, 5),
  scored('b', RISK, 2, 10),
];
const ENTRIES = describeCandidates([candidate('a', WRONG), candidate('b', RIGHT)], VERDICTS, '').map(
  ({ entry }) => entry,
);

it('a verifier that is watched works in its own phase', () => {
  const verifier = { name: 'x', measures: [], phase: 'after-tests', verify: () => Promise.resolve([]) } as const;
  expect(new StageTelemetry().verifier(verifier)).toMatchObject({ phase: 'after-tests' });
});

describe('measures that a verifier declares', () => {
  it('are names that cannot be taken for a misspelt one', () => {
    expect(
      [AGENT, RISK, 'regression', 'execution_free:NAME'].map((name) => MeasureName.safeParse(name).success),
    ).toEqual([true, true, true, true]);
    expect(['regresion', 'ef', 'ef:', 'ef:a b', 'Ef:x'].some((name) => MeasureName.safeParse(name).success)).toBe(
      false,
    );
    expect(() => parsePreset({ name: 'mine', stages: [{ stage: 'max', by: 'regresion' }] }, 'mine.yaml')).toThrow(
      /mine\.yaml.*stages\.0\.by/,
    );
  });

  it('are told apart beside the three columns, in their own unit; several judges have their mean in the one', () => {
    expect(ENTRIES.map(({ measures }) => measures)).toEqual([
      { [AGENT]: 0.25, 'ef:yes-no': 0.75, [RISK]: 7 },
      { [AGENT]: 0.6, [RISK]: 2 },
    ]);
    expect(ENTRIES.map(({ execution_free }) => execution_free)).toEqual([0.5, 0.6]);
    expect(ENTRIES.map(({ applies }) => applies)).toEqual([null, null]);
  });

  it('decide in a preset of a user and stand in the ranking', () => {
    const preset = parsePreset({ name: 'mine', stages: [{ stage: 'min', by: RISK }] });
    const selection = selectBest({ instanceId: 'demo', entries: ENTRIES }, ruleOf(preset));
    expect(selection).toMatchObject({ candidate_id: 'b', basis: 'hybrid', deciding_stage: `min ${RISK}` });
    expect(selection.ranking[1]?.scores).toMatchObject({ [AGENT]: 0.25, [RISK]: 7 });
  });

  it('go through a score matrix and have a row each in the statistics', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'bestk-measures-'));
    const file = join(folder, 'scores.jsonl');
    const labels = new Map([
      ['a', { resolved: false, reason: null }],
      ['b', { resolved: true, reason: null }],
    ]);
    await writeFile(file, `${JSON.stringify(scoresOf('demo-1', ENTRIES, labels))}\n`);
    const issues: ScoredIssue[] = [];
    for await (const issue of readScoreMatrix(file)) issues.push(issue);
    expect(issues[0]?.candidates.map(({ entry }) => entry.measures)).toEqual([
      { [AGENT]: 0.25, 'ef:yes-no': 0.75, [RISK]: 7 },
      { [AGENT]: 0.6, 'ef:yes-no': null, [RISK]: 2 },
    ]);
    const curves = new Curves({
      ks: [1],
      presets: [findPreset('ef-only')],
      axes: [],
      resamples: 0,
      best: DEFAULT_BEST,
    });
    for (const issue of issues) curves.add(issue);
    const report = curves.report();
    expect(
      report.verifiers.map(({ verifier, scored: n, abstained, brier }) => [verifier, n, abstained, brier !== null]),
    ).toEqual([
      ['execution_free', 2, 0, true],
      [AGENT, 2, 0, true],
      ['ef:yes-no', 1, 1, true],
      [RISK, 2, 0, false],
    ]);
    expect(report.coverage.known).toMatchObject({ [AGENT]: 2, 'ef:yes-no': 1, regression: 0 });
    await writeFile(file, `${JSON.stringify({ instance_id: 'x', resolved: [1], measures: { [AGENT]: [1.5] } })}\n`);
    await expect(readScoreMatrix(file).next()).rejects.toThrow(
      /scores\.jsonl, line 1.*measures\.ef:agent@some\/model:free\.0/s,
    );
    await rm(folder, { recursive: true });
  });

  it('have a column each where scores are shown; several judges stand in the place of the one', () => {
    const [agent, yesNo] = [judgeMeasure(AGENT), judgeMeasure('ef:yes-no')];
    expect(measuresShown([]).map(({ name }) => name)).toEqual(['execution_free', 'regression', 'reproduction']);
    expect(measuresShown([agent, yesNo]).map(({ title }) => title)).toEqual([
      'Regression',
      'Tests',
      'agent@some/model:free',
      'yes-no',
    ]);
    expect(measuresShown([EXECUTION_FREE, agent])).toHaveLength(4);
  });
});

describe('a verifier of the user’s own', () => {
  const EXAMPLE = 'examples/verifier/public-api.mjs';
  const signal = new AbortController().signal;
  const ports = {} as VerifierPorts;
  const issue = calculatorIssue;

  async function verdictsOn(...candidates: Candidate[]): Promise<readonly Verdict[]> {
    const own = await loadOwnVerifiers([EXAMPLE]);
    return own.get('public-api')?.(ports).verify({ issue, candidates, tests: [] }, signal) ?? [];
  }

  it('counts the public declarations that a patch removes or changes', async () => {
    const patch = [
      ...['diff --git a/a/shop.py b/a/shop.py', '--- a/a/shop.py', '+++ b/a/shop.py', '@@ -1,8 +1,7 @@'],
      ...['-def total(cart):', '+def total(cart, tax):', '-    def moved(self):', '-def _own(x):', '-class Gone:'],
      ...['+    def moved(self):', '+def new(x):'],
      ...['--- a/tests/test_shop.py', '+++ b/tests/test_shop.py', '@@ -1 +1 @@', '-def test_a():', '+def test_b():'],
      ...['--- a/lib.mjs', '+++ b/lib.mjs', '@@ -1 +1 @@', '-export const a = 1;', '+const a = 1;'],
      ...['--- a/x.go', '+++ b/x.go', '@@ -1,2 +0,0 @@', '-func (s *S) Open() error {', '-func close() {', ''],
    ].join('\n');
    const [risky, safe, empty] = await verdictsOn(candidate('a', patch), candidate('b', RIGHT), candidate('c', ''));
    const changed = ['a/shop.py: def total(cart):', 'a/shop.py: class Gone:', 'lib.mjs: export const a = 1;'];
    expect(risky).toMatchObject({
      measure: 'api:changed',
      score: 4,
      evidence: { changed: [...changed, 'x.go: func (s *S) Open() error {'] },
    });
    expect(safe).toMatchObject({ score: 0 });
    expect(empty).toMatchObject({ kind: 'abstained', reason: 'no-source-change' });
  });

  it('is asked for by its name, and its measure has its column, unit and direction from what it declares', async () => {
    const own = await loadOwnVerifiers([EXAMPLE]);
    const checks = Object.assign(new NoRunDependencies(), { ownVerifiers: [...own.keys()] });
    const asked = (name: string) => runRequest({ issue, candidates: [candidate('a', RIGHT)], verifiers: [name] });
    expect(checkRequest(asked('public-api'), checks)).toEqual(['public-api']);
    expect(() => checkRequest(asked('public-apy'), checks)).toThrow(/"public-apy" is not a verifier/);
    const declared = own.get('public-api')?.(ports).measures ?? [];
    expect(measuresShown(declared).map(({ title }) => title)).toContain('API');
    const share = { ...declared[0], name: 'api:share', unit: 'probability' } as Measure;
    const verdicts = [scored('a', 'api:changed', 3), scored('b', 'api:changed', 1), scored('b', 'api:share', 1, 4)];
    const described = describeCandidates([candidate('a', WRONG), candidate('b', RIGHT)], verdicts, '', {
      measures: [...declared, share],
    });
    expect(described[1]?.entry.measures).toEqual({ 'api:changed': 1, 'api:share': 0.25 });
    const quality = new VerifierQuality();
    const candidates = described.map(({ entry }) => ({ entry, resolved: entry.id === 'b' }));
    quality.add({ candidates, measures: declared });
    expect(quality.report().find(({ verifier }) => verifier === 'api:changed')?.auc_within_issue).toBe(1);
  });

  it.each([
    ['export const name = "mine";', /does not export a verifier: create/],
    ['export const name = "eb"; export const create = () => ({});', /does not export a verifier: name/],
    ['import "./nothing.mjs";', /cannot be loaded/],
    [own('kind: "judge"'), /declares a wrong measure: 0\.kind/],
    [own('name: "regression"'), /declares a wrong measure: 0\.name/],
    [own('', '[]'), /returned no verdict on candidate "a" in "my:risk"/],
    [own('', `[${verdictOn('a', 'NaN')}]`), /wrong verdict: 0\.score/],
    [own('', `[${verdictOn('a')}, ${verdictOn('b')}]`), /on candidate "b" in "my:risk" that is not due/],
    [
      own('', `[${verdictOn('a')}, ${verdictOn('a')}]`),
      /on candidate "a" in "my:risk" that is not due, or not a second/,
    ],
  ])('is refused where its module is wrong: %#', async (source, problem) => {
    const folder = await mkdtemp(join(tmpdir(), 'bestk-own-'));
    const file = join(folder, 'own.mjs');
    await writeFile(file, source);
    const run = async (): Promise<unknown> => {
      const made = await loadOwnVerifiers([file]);
      return made
        .get('mine')?.(ports)
        .verify({ issue, candidates: [candidate('a', RIGHT)], tests: [] }, signal);
    };
    await expect(run()).rejects.toMatchObject({
      name: 'BadInputError',
      message: expect.stringMatching(problem) as string,
    });
    await rm(folder, { recursive: true });
  });

  function verdictOn(id: string, score = '1'): string {
    return `{ kind: "scored", candidate_id: "${id}", measure: "my:risk", score: ${score}, out_of: 1, evidence: {} }`;
  }

  function own(measure: string, verdicts = '[]'): string {
    const declared = `{ name: "my:risk", kind: "fact", unit: "score", better: "lower", title: "Risk", meaning: "risk", ${measure} }`;
    return `export const name = "mine"; export const create = () => ({ measures: [${declared}], verify: async () => (${verdicts}) });`;
  }
});
