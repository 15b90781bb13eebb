import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Names } from '../../../src/io/datasets/set-reader.js';
import { parsePythonList } from '../../../src/io/inputs/score-columns.js';
import { readScoreMatrix } from '../../../src/io/inputs/score-matrix.js';
import type { ScoredIssue } from '../../../src/statistics/curves/scored-issue.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-scores-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function read(rows: readonly (object | string)[], axes: readonly string[] = []): Promise<ScoredIssue[]> {
  const file = join(folder, 'scores.jsonl');
  await writeFile(file, rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n'));
  const issues: ScoredIssue[] = [];
  for await (const issue of readScoreMatrix(file, axes)) issues.push(issue);
  return issues;
}

describe('a score matrix', () => {
  it('becomes candidates with their labels, ids and repositories', async () => {
    const [issue] = await read(
      [
        {
          instance_id: 'sympy__sympy-24066',
          candidate_ids: ['a', 'b'],
          resolved: [1, 0],
          execution_free: [0.9, null],
          regression: [41, 40],
          reproduction: [null, 3],
          patch_size: [0, 7],
          regression_out_of: 50,
          finished: [true, false],
          cost: [0.5, null],
          steps: [3, 4],
          context_tokens: [1000, 2000],
        },
      ],
      ['context_tokens', 'absent'],
    );
    expect(issue).toMatchObject({ instanceId: 'sympy__sympy-24066', repo: 'sympy/sympy' });
    expect(issue?.candidates[0]).toMatchObject({
      resolved: true,
      cost: 0.5,
      axes: { context_tokens: 1000, absent: null },
      entry: { id: 'a', execution_free: 0.9, regression: 41, reproduction: null, has_source_change: false },
    });
    expect(issue?.candidates[1]).toMatchObject({
      resolved: false,
      cost: null,
      entry: {
        id: 'b',
        execution_free: null,
        regression_out_of: 50,
        reproduction_out_of: 3,
        finished: false,
        steps: 4,
      },
    });
  });

  it("accepts R2E-Gym's names and stringified Python lists", async () => {
    const [issue] = await read([
      {
        docker_images: 'namanjain12/sympy_final:abc',
        gt_rewards: '[1.0, 0.0, 1.]',
        avg_yes_prob: '[0.25, None, 1e-3]',
        regression_rates: '[12, 13, 13]',
        mean_predicted_rewards: '(1, 0, 2)',
      },
    ]);
    expect(issue?.candidates.map(({ resolved }) => resolved)).toEqual([true, false, true]);
    expect(issue?.candidates.map(({ entry }) => entry.execution_free)).toEqual([0.25, null, 0.001]);
    expect(issue?.candidates.map(({ entry }) => [entry.id, entry.regression, entry.reproduction])).toEqual([
      ['0', 12, 1],
      ['1', 13, 0],
      ['2', 13, 2],
    ]);
  });

  it('keeps an issue without candidates, and counts a candidate without a grade apart', async () => {
    const issues = await read([
      { instance_id: 'a', resolved: [] },
      { instance_id: 'b', resolved: [null, true] },
    ]);
    expect(issues.map(({ candidates }) => candidates.map(({ entry, resolved }) => [entry.id, resolved]))).toEqual([
      [],
      [['1', true]],
    ]);
    expect(issues.map(({ unknownLabels }) => unknownLabels)).toEqual([[], [null]]);
  });

  it('reads why labels are unknown', async () => {
    const [issue] = await read([{ instance_id: 'a', resolved: [null, 1, null], label_reasons: ['lost', null, null] }]);
    expect(issue?.unknownLabels).toEqual(['lost', null]);
    const ragged = read([{ instance_id: 'a', resolved: [null, 1], label_reasons: ['lost'] }]);
    await expect(ragged).rejects.toThrow(/field "label_reasons": has 1 values for 2 labels/);
  });

  const row = { instance_id: 'a__b-1', resolved: [0, 1] };
  it.each<[string, object | string, RegExp]>([
    ['ragged arrays', { ...row, execution_free: [0.5] }, /line 2, field "execution_free": has 1 values for 2 labels/],
    [
      'NaN',
      { instance_id: 'n', resolved: '[0, 1]', regression: '[nan, 1]' },
      /field "regression\.0": is NaN; use null/,
    ],
    ['a bare NaN', '{"instance_id": "n", "resolved": [0], "regression": [NaN]}', /line 2: is not JSON/],
    ['Infinity', '{"instance_id": "n", "resolved": [0], "regression": [1e999]}', /field "regression\.0": is Infinity/],
    ['a label of −1', { ...row, resolved: [-1, 1] }, /field "resolved\.0": is -1; a label is 0, 1 or null/],
    ['a label of 2', { ...row, resolved: [0, 2] }, /field "resolved\.1": is 2/],
    [
      'strings for numbers',
      { ...row, regression: ['1', 2] },
      /field "regression\.0": is the text "1"; it must be a number/,
    ],
    [
      'a text that is no list',
      { ...row, regression: 'high' },
      /field "regression": is the text "high"; it must be a list/,
    ],
    [
      'an impossible probability',
      { ...row, execution_free: [0.5, 1.5] },
      /field "execution_free\.1": is 1.5, outside 0 to 1/,
    ],
    ['nested lists', { ...row, regression: [[1], 2] }, /field "regression\.0": is a list; it must be a number/],
    ['twin ids', { ...row, candidate_ids: ['x', 'x'] }, /field "candidate_ids\.1": "x" occurs earlier/],
    ['twin issues', { instance_id: 'first', resolved: [1] }, /line 2, field "instance_id": "first" occurs earlier/],
    ['no labels', { instance_id: 'a' }, /field "resolved": is missing/],
    ['no id', { resolved: [1] }, /field "instance_id": is missing/],
    ['a row that is a number', '7', /is not an object/],
    [
      'a total of 0',
      { ...row, regression: [1, 2], regression_out_of: 0 },
      /field "regression_out_of": is 0, not above 0/,
    ],
  ])('refuses %s, naming line and field', async (_, bad, message) => {
    await expect(read([{ instance_id: 'first', resolved: [1] }, bad])).rejects.toThrow(message);
  });

  it('names a file that is not there', async () => {
    await expect(readScoreMatrix(join(folder, 'no.jsonl')).next()).rejects.toThrow(/no\.jsonl: does not exist/);
  });
});

describe('a Python list', () => {
  it.each([
    ["['a', \"b\\'c\", None, True, False]", ['a', "b'c", null, true, false]],
    ['[ ]', []],
    ['(1,)', [1]],
    ['[-1.5e-3, .5]', [-0.0015, 0.5]],
    ['[inf]', [Infinity]],
  ])('%s', (text, values) => {
    expect(parsePythonList(text)).toEqual(values);
  });

  it.each(['[1, 2', '1, 2', '[1 2]', '[[1], [2]]', '[__import__("os")]', '[1, , 2]', 'array([1])'])(
    'refuses %s',
    (text) => {
      expect(parsePythonList(text)).toBeUndefined();
    },
  );

  it('refuses a text too long to be looked at, instead of failing', () => {
    const long = 'a'.repeat(9_000_000);
    expect(parsePythonList(`['${long}']`)).toBeUndefined();
    expect(Names.safeParse(`['a' '${long}']`).success).toBe(false);
  });
});
