import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLabels } from '../../src/reports/read-labels.js';

const folder = mkdtempSync(join(tmpdir(), 'bestk-labels-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function labels(...rows: readonly (readonly [id: string, resolved: unknown, instance?: string])[]) {
  const path = join(folder, 'labels.jsonl');
  const records = rows.map(([candidate_id, resolved, instance_id = 'a']) => ({ instance_id, candidate_id, resolved }));
  writeFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  return readLabels(path, 'a');
}

describe('readLabels', () => {
  it('reads true, false, 1 and 0 of the instance at hand', async () => {
    expect([...(await labels(['x', true], ['y', 0], ['z', 1], ['v', false], ['x', false, 'b']))]).toEqual([
      ['x', true],
      ['y', false],
      ['z', true],
      ['v', false],
    ]);
  });

  it('keeps candidates of any name', async () => {
    expect((await labels(['__proto__', true])).get('__proto__')).toBe(true);
  });

  it.each([[2], ['true'], [null], [undefined]])('refuses the label %p', async (resolved) => {
    await expect(labels(['x', true], ['y', resolved])).rejects.toThrow(/labels\.jsonl, line 2, field "resolved"/);
  });

  it('refuses a second label of a candidate, also an equal one', async () => {
    await expect(labels(['x', true], ['x', true])).rejects.toThrow(
      /line 2, field "candidate_id": "x" stands already on line 1/,
    );
  });

  it('refuses a file without a label of the instance', async () => {
    await expect(labels(['x', true, 'b'])).rejects.toThrow(/holds no label of instance "a"/);
  });
});
