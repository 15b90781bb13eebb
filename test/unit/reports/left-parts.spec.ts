import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../../../src/reports/write-run.js';

describe('a folder that is written again', () => {
  it('loses what a killed process had not finished, and nothing else', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bestk-parts-'));
    const { pid: dead } = spawnSync(process.execPath, ['-e', '']);
    const kept = [
      `run.json.${process.pid}.part`,
      'selection.json',
      'notes.json.part',
      `archive.7z.${dead}.part`,
      `run.json.${dead}`,
    ];
    const left = [`run.json.${dead}.part`, `predictions.jsonl.${dead}.part`, `report.html.${dead}.part`];
    for (const name of [...kept, ...left]) writeFileSync(join(folder, name), '');
    await makeFolder(folder);
    expect(readdirSync(folder).sort()).toEqual(kept.sort());
  });
});
