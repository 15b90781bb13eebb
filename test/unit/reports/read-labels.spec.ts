import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LabelBook, type Labels, labelsOf, readAllLabels } from '../../../src/reports/label-book.js';
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

  it('keeps an unknown label, and the same label twice', async () => {
    expect([...(await labels(['x', true], ['y', null], ['x', 1]))]).toEqual([
      ['x', true],
      ['y', null],
    ]);
  });

  it.each([
    [[true, 0], 'line 2, field "resolved": of "x" contradicts line 1.'],
    [[null, false, null, true], 'line 4, field "resolved": of "x" contradicts line 2.'],
    [[1, true, null, false], 'line 4, field "resolved": of "x" contradicts line 1.'],
  ])('refuses labels of a candidate that contradict each other, naming both lines: %j', async (given, message) => {
    await expect(labels(...given.map((each) => ['x', each] as const))).rejects.toThrow(message);
  });

  it('refuses a file without a label of the instance', async () => {
    await expect(labels(['x', true, 'b'])).rejects.toThrow(/has no label for instance "a"/);
  });
});

describe('unknown labels', () => {
  const write = (name: string, ...rows: readonly object[]): string => {
    const path = join(folder, name);
    writeFileSync(path, rows.map((row) => `${JSON.stringify({ instance_id: 'a', ...row })}\n`).join(''));
    return path;
  };

  it.each([
    ['a reason', { reason: 'timed out' }, 'timed out'],
    ['no reason', {}, null],
    ['a null reason', { reason: null }, null],
    ['a very long reason', { reason: 'x'.repeat(2_000) }, 'x'.repeat(1_000)],
  ])('are kept with %s', async (_what, more, reason) => {
    const path = write('unknown.jsonl', { candidate_id: 'x', resolved: null, ...more });
    expect((await readAllLabels(path)).get('a')?.get('x')).toMatchObject({ resolved: null, reason });
  });

  it.each([
    [[null, true], true],
    [[false, null], false],
    [[null, false, null], false],
  ])('are replaced by a known one, which is noted: %j', async (given, resolved) => {
    const book = new LabelBook();
    const rows = given.map((each) => ({ candidate_id: 'x', resolved: each }));
    const path = write('both.jsonl', ...rows, { candidate_id: 'y', resolved: null, reason: 'timed out' });
    expect((await readAllLabels(path, book)).get('a')?.get('x')?.resolved).toBe(resolved);
    expect(book.notes()).toEqual([
      'unknown labels (null): 1 of 2; the most frequent reason (1) is: timed out',
      'candidates with a known and an unknown label: 1, such as "x" of a; the known label is used',
    ]);
  });

  it('are not lines of an import that only hold what is sealed', async () => {
    const sealed = [{ kind: 'test-log', value: 'x' }];
    const path = write('sealed.jsonl', { candidate_id: 'x', resolved: null, sealed });
    expect((await readAllLabels(path)).size).toBe(0);
  });

  it('of one file are known by another, and two that contradict each other name both files', async () => {
    const book = new LabelBook();
    const first = write('first.jsonl', { candidate_id: 'x', resolved: null }, { candidate_id: 'y', resolved: true });
    await readAllLabels(first, book);
    const labels = await readAllLabels(write('second.jsonl', { candidate_id: 'x', resolved: true }), book);
    expect(labels.get('a')?.get('x')?.resolved).toBe(true);
    const third = write('third.jsonl', { candidate_id: 'y', resolved: false });
    await expect(readAllLabels(third, book)).rejects.toThrow(
      `${third}, line 1, field "resolved": of "y" contradicts line 2 of ${first}.`,
    );
  });
});

describe('the rates that select prints with labels', () => {
  const summary = (...labels: readonly (readonly [string, boolean | null])[]): string => {
    const { selection, statistics, ...rest } = runResult();
    const ranking = selection.ranking.flatMap((each) => ['b', 'a', 'c'].map((id) => ({ ...each, candidate_id: id })));
    const result = {
      ...rest,
      statistics: { ...statistics, k: 3 },
      selection: { ...selection, candidate_id: 'b', ranking },
    };
    return selectSummary(
      result,
      new Map(labels.map(([id, resolved]) => [id, { resolved, reason: resolved === null ? 'timed out' : null }])),
      'out',
    );
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

describe('an unknown label that select prints', () => {
  it('is neither right nor wrong, and says why', () => {
    const labels = new Map([
      [runResult().selection.ranking[0]?.candidate_id ?? '', { resolved: null, reason: 'a\nb' }],
    ]);
    const lines = selectSummary(runResult(), labels, 'out').split('\n');
    expect(lines[1]).toMatch(/ unknown$/);
    expect(lines.find((line) => line.startsWith('Label of'))).toMatch(/is unknown: a.{1,2}b$/);
    expect(lines.find((line) => line.startsWith('Pass@1'))).toMatch(
      /^Pass@1 = unknown, Pass@\d = unknown, Best@\d = unknown/,
    );
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
