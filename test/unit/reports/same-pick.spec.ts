import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { RunRequest } from '../../../src/core/run/run-request.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import { poolOf, readReportedRun } from '../../../src/reports/benchmark/reported-run.js';
import { writeRun } from '../../../src/reports/write-run.js';
import { poolOfRun } from '../../../src/runs/entries.js';
import { RescoreRun, rescoreRun } from '../../../src/runs/run-intake.js';
import { PRESET_NAMES, requestedRule } from '../../../verifiers/hybrid/presets.js';
import { selectBest } from '../../../verifiers/hybrid/select.js';
import { runResult } from '../../fixtures/runs.js';
import { BenchmarkWorld, patchOf } from './benchmark-world.js';

const OWN = {
  name: 'own',
  stages: [
    { stage: 'max', by: 'p_right', within: 0.05 },
    { stage: 'min', by: 'patch_size' },
  ],
};
const TRIED = [
  { id: 'a', p: 0.9, kept: 4, solved: ['s'] },
  { id: 'b', p: 0.2, kept: 5, solved: ['s', 't', 'u'] },
  { id: 'c', p: null, kept: 5, solved: ['s', 't'] },
  { id: 'd', p: 0.6, kept: null, solved: [] },
];

const verdicts = TRIED.flatMap(({ id, p, kept, solved }): Verdict[] => {
  const of = { kind: 'scored', candidate_id: id, evidence: {} } as const;
  return [
    ...(p === null ? [] : [{ ...of, measure: 'execution_free', score: p, out_of: 1 }]),
    ...(kept === null ? [] : [{ ...of, measure: 'regression', score: kept, out_of: 5 }]),
    { ...of, measure: 'reproduction', score: solved.length, out_of: 3, evidence: { solved } },
  ];
});
const tests = [
  ['s', 'one'],
  ['t', 'one'],
  ['u', 'two'],
].map(([test_id, author]) => ({ test_id, author, path: `${test_id}.py`, content: 'exit(0)' }));
const candidates = TRIED.map(({ id }) => ({ candidate_id: id, patch: patchOf(id) }));
const issue = { instance_id: 'o__r-1', problem_statement: 'It fails.', environment: { image: 'demo:1' } };

const folder = mkdtempSync(join(tmpdir(), 'bestk-same-pick-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

it.each([...PRESET_NAMES.filter((name) => name !== 'learned'), OWN])(
  'the same verdicts give the same pick where they are selected from, scored again and reported on: %p',
  async (preset) => {
    const request = RunRequest.parse({ issue, candidates, tests, preset, min_confidence: 0.1 });
    const result = { ...runResult(), verdicts };
    const selected = selectBest(poolOfRun(request, result), requestedRule(request));
    await writeRun(folder, { id: 'run', createdAt: '2026-11-20T10:00:00.000Z', request, result });
    const read = readReportedRun(folder);
    const at = '2026-11-20T10:00:00.000Z';
    const about = { id: 'run', status: 'done', created_at: at, updated_at: at, failure: null } as const;
    const first = RunRequest.parse({ issue, candidates, tests });
    const stored = { ...about, request: z.json().parse(first), result: z.json().parse(result) };
    const change = RescoreRun.parse({ preset, min_confidence: 0.1 });
    const again = RunRequest.parse(rescoreRun(stored, change));
    for (const other of [
      selectBest(poolOf(read), requestedRule(read.request)),
      selectBest(poolOfRun(again, result), requestedRule(again)),
    ]) {
      expect(other).toEqual(selected);
    }
    expect(selected.ranking).toHaveLength(TRIED.length);
  },
);

describe('the confidence that a report counts', () => {
  it('is what a run stated of what it selects, and worked out for anything else', async () => {
    const made = new BenchmarkWorld();
    const tried = [
      { id: 'a', p: 0.9, passed: 5, right: true },
      { id: 'b', p: 0.2, passed: 1, right: false },
    ];
    const stated = (candidate_id: string) => ({
      selection: { ...runResult().selection, candidate_id, confidence: 0.123 },
    });
    await made.run('o__r-1', tried, stated('a'));
    await made.run('o__r-2', tried, stated('b'));
    await made.run('o__r-3', tried);
    const said = (await made.report()).returned?.confidences.map(({ confidence }) => confidence) ?? [];
    expect(said).toEqual([said[0], said[0], 0.123]);
    expect(said[0]).toBeGreaterThan(0.5);
  });
});
