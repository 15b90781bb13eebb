import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Labels, labelsOf, readAllLabels } from '../../../src/reports/label-book.js';
import { selectSummary } from '../../../src/reports/selection-table.js';
import { runResult } from '../../fixtures/runs.js';

const folder = mkdtempSync(join(tmpdir(), 'bestk-labels-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const known = (labels: Labels) => new Map([...labels].map(([id, { resolved }]) => [id, resolved]));

async function labels(...rows: readonly (readonly [id: string, resolved: unknown, instance?: string])[]) {
  const path = join(folder, 'labels.jsonl');
  const records = rows.map(([candidate_id, resolved, instance_id = 'a']) => ({ instance_id, candidate_id, resolved }));
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return known(labelsOf(await readAllLabels(path), 'a', path));
}

describe('labels of an instance', () => {
  it('reads true, false, 1 and 0 of the instance at hand', async () => {
    expect([...(await labels(['x', true], ['y', 0], ['z', 1], ['v', false], ['x', false, 'b']))]).toEqual([
      ['x', true],
      ['y', false],
      ['z', true],
      ['v', false],
    ]);
  });

  it('takes a number for an id, as candidates do', async () => {
    expect([...(await labels([7 as never, true]))]).toEqual([['7', true]]);
  });

  it('keeps candidates of any name', async () => {
    expect((await labels(['__proto__', true])).get('__proto__')).toBe(true);
  });

  it.each([[2], ['true'], [undefined]])('refuses the label %p', async (resolved) => {
    await expect(labels(['x', true], ['y', resolved])).rejects.toThrow(/labels\.jsonl, line 2, field "resolved"/);
  });

  it('takes null for not known, and the same label twice', async () => {
    expect([...(await labels(['x', true], ['y', null], ['x', 1]))]).toEqual([['x', true]]);
  });

  it('refuses two labels of a candidate that contradict each other', async () => {
    await expect(labels(['x', true], ['x', 0])).rejects.toThrow(/line 2, field "resolved": of "x" contradicts/);
  });

  it('refuses a file without a label of the instance', async () => {
    await expect(labels(['x', true, 'b'])).rejects.toThrow(/has no label for instance "a"/);
  });
});

describe('the rates that select prints with labels', () => {
  const summary = (...labels: readonly (readonly [string, boolean])[]): string => {
    const { selection, statistics, ...rest } = runResult();
    const ranking = selection.ranking.flatMap((each) => ['b', 'a', 'c'].map((id) => ({ ...each, candidate_id: id })));
    const result = {
      ...rest,
      statistics: { ...statistics, k: 3 },
      selection: { ...selection, candidate_id: 'b', ranking },
    };
    return selectSummary(result, new Map(labels.map(([id, resolved]) => [id, { resolved, reason: null }])), 'out');
  };

  it.each([
    [
      [
        ['a', true],
        ['b', false],
        ['c', false],
      ],
      'Pass@1 = 0.333, Pass@3 = 1.000, Best@3 = 0.000 (with the labels given)',
    ],
    [
      [
        ['a', true],
        ['c', false],
      ],
      'Pass@1 = 0.500, Pass@3 = 1.000, Best@3 = unknown (with the labels given; 1 of 3 candidates have no known label)',
    ],
    [
      [['b', false]],
      'Pass@1 = 0.000, Pass@3 = unknown, Best@3 = 0.000 (with the labels given; 2 of 3 candidates have no known label)',
    ],
    [
      [],
      'Pass@1 = unknown, Pass@3 = unknown, Best@3 = unknown (with the labels given; 3 of 3 candidates have no known label)',
    ],
  ] as const)('count no candidate without a label as wrong: %j', (labels, line) => {
    expect(summary(...labels).split('\n')).toContain(line);
  });
});

describe('the labels of an import or a grade', () => {
  it.each([
    ['a line that is no JSON', '{"instance_id"', /labels\.jsonl.*line 2.*is not JSON/],
    ['a row of something else', '{"instance_id": "a", "resolved": true}', /line 2, field "candidate_id"/],
  ])('are refused with %s, and not passed over', async (_what, line, message) => {
    const path = join(folder, 'labels.jsonl');
    writeFileSync(path, `{"instance_id": "a", "candidate_id": "x", "resolved": true}\n${line}\n`);
    await expect(readAllLabels(path)).rejects.toThrow(message);
  });

  it('may be none', async () => {
    const path = join(folder, 'empty.jsonl');
    writeFileSync(path, '');
    expect((await readAllLabels(path)).size).toBe(0);
  });
});
