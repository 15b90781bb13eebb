import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeBenchmark } from '../../../src/reports/benchmark/make-benchmark.js';
import { benchmarkOfRuns } from '../../../src/reports/benchmark/read-benchmark.js';
import { sentences } from '../../../src/reports/benchmark/sentences.js';
import { writeBenchmark } from '../../../src/reports/benchmark/write-benchmark.js';
import { findPreset } from '../../../verifiers/hybrid/presets.js';
import { BenchmarkWorld, type Tried } from './benchmark-world.js';

const telling: readonly Tried[] = [
  { id: 'a', p: 0.1, passed: 5, right: false },
  { id: 'b', p: 0.9, passed: 4, right: true },
  { id: 'c', p: 0.2, passed: 5, right: false },
  { id: 'd', p: null, passed: 5, right: false },
];

async function world(issues: number): Promise<BenchmarkWorld> {
  const made = new BenchmarkWorld();
  for (let index = 0; index < issues; index += 1) await made.run(`org__r${index % 2}-${index}`, telling);
  return made;
}

describe('a benchmark report with unknown labels', () => {
  const unknown = (instance_id: string, ...ids: readonly string[]): unknown[] =>
    ids.map((candidate_id) => ({ instance_id, candidate_id, resolved: null, reason: 'timed out <b>' }));
  const options = {
    presets: [findPreset('ef-only'), findPreset('random')],
    ks: null,
    resamples: 50,
    seed: 1,
    draws: 10,
  };
  /** Two issues with telling candidates and one of which no label is known. */
  const read = async (made: BenchmarkWorld, lines: readonly unknown[]) => {
    const file = made.write('some.jsonl', lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
    return benchmarkOfRuns([join(made.path, 'runs')], [file], 'mine');
  };
  const known = (instance_id: string): unknown[] =>
    telling.map(({ id: candidate_id, right: resolved }) => ({ instance_id, candidate_id, resolved }));
  const ids = telling.map(({ id }) => id);

  it('says so in its first lines, and lists the issue of which none is known', async () => {
    const made = await world(3);
    const [first = '', ...others] = ids;
    const lines = [...known('org__r0-0').slice(1), ...unknown('org__r0-0', first), ...known('org__r1-1')];
    const here = await read(made, [...lines, ...unknown('org__r0-2', ...ids)]);
    const report = makeBenchmark(here, null, options);
    const count = ids.length + 1;
    expect(report.curves?.issues).toBe(2);
    expect(report.curves?.coverage).toMatchObject({ candidates: ids.length + others.length, ungraded_issues: 1 });
    expect(report.unknown_labels).toMatchObject({
      ...{ candidates: count, issues: 1 },
      issues_without_known_label: [{ instance_id: 'org__r0-2', candidates: ids.length, reason: 'timed out <b>' }],
    });
    const said = `Unknown labels: ${count} candidates; 1 issue without any known label; excluded from all rates. Most frequent reason (${count}): timed out <b>.`;
    expect(sentences(report)[1]).toBe(said);
    const out = mkdtempSync(join(tmpdir(), 'bestk-report-'));
    await writeBenchmark(out, report);
    const file = (name: string): string => readFileSync(join(out, name), 'utf8');
    expect(file('report.csv').split('\r\n').slice(1, 3)).toEqual([
      `labels,candidates,,unknown,${count},,`,
      'labels,issues,,unknown,1,,',
    ]);
    expect(file('report.md')).toMatch(/Unknown labels: [^]*Coverage and failures[^]*org\\_\\_r0-2/);
    expect(file('report.html')).toContain('timed out &lt;b>');
    expect(file('report.html')).not.toContain('timed out <b>');
  });

  it('counts an issue of which none is known in no rate, also against others', async () => {
    const [made, other] = [await world(3), await world(3)];
    const here = await read(made, ['org__r0-0', 'org__r1-1', 'org__r0-2'].flatMap(known));
    const there = await read(other, [...known('org__r0-0'), ...known('org__r1-1'), ...unknown('org__r0-2', ...ids)]);
    const { against } = makeBenchmark(here, there, options);
    expect(against?.paired).toMatchObject({ issues_in_both: 2, only_in_this: 1, only_in_other: 0 });
    expect(against?.paired?.rows[0]).toMatchObject({ what: 'Pass@all', only_this: 0, only_other: 0 });
  });

  it('counts what a run returned apart if its label is unknown', async () => {
    const made = await world(2);
    const { returned } = makeBenchmark(await read(made, ['org__r0-0', 'org__r1-1'].flatMap(known)), null, options);
    // deepswe: those that pass most of the existing tests are a, c and d; c has the best score, d counts as the median.
    const picked = 'c';
    const label = { instance_id: 'org__r0-0', candidate_id: picked, resolved: null, reason: 'timed out' };
    const kept = known('org__r0-0').filter((each) => (each as typeof label).candidate_id !== picked);
    const here = await read(made, [...kept, label, ...known('org__r1-1')]);
    const report = makeBenchmark(here, null, options);
    expect(returned).toMatchObject({ unknown_labels: 0, right: { issues: 2 } });
    expect(report.returned).toMatchObject({ unknown_labels: 1, right: { issues: 1 } });
  });

  it('has no rates where no label is known at all, and says why', async () => {
    const made = await world(2);
    const report = makeBenchmark(await read(made, unknown('org__r0-0', ...ids)), null, options);
    expect(report).toMatchObject({ curves: null, issues_without_labels: 1, returned: { right: null } });
    expect(sentences(report).slice(0, 2)).toEqual([
      expect.stringMatching(/^No label is known, so/) as unknown,
      expect.stringMatching(/^Unknown labels: \d+ candidates; 1 issue without any known label/) as unknown,
    ]);
    await writeBenchmark(mkdtempSync(join(tmpdir(), 'bestk-report-')), report);
  });
});
