import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  EXECUTION_FREE,
  judgeMeasure,
  MeasureName,
  measuresShown,
  type Verdict,
} from '../../../src/core/run/verdict.js';
import { readScoreMatrix } from '../../../src/io/inputs/score-matrix.js';
import { scoresOf } from '../../../src/reports/set-files.js';
import { StageTelemetry } from '../../../src/runs/instrumented-executor.js';
import { describeCandidates } from '../../../src/runs/entries.js';
import { Curves } from '../../../src/statistics/curves/curves.js';
import { DEFAULT_BEST } from '../../../src/statistics/curves/best-at-k.js';
import type { ScoredIssue } from '../../../src/statistics/curves/scored-issue.js';
import { findPreset, parsePreset } from '../../../verifiers/hybrid/presets.js';
import { ruleOf, selectBest } from '../../../verifiers/hybrid/select.js';
import { candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';

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
      ['a', false],
      ['b', true],
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
