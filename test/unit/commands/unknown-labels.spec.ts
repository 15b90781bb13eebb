import type { CurvesReport } from '../../../src/statistics/curves/curves-report.js';
import { CommandLine } from '../../fixtures/command-line.js';

const cli = new CommandLine();

describe('unknown labels', () => {
  it('are counted in the first line of curves, which lists the issues of which none is known', async () => {
    const rows = [
      { instance_id: 'o__r-1', resolved: [1, 0, null], label_reasons: [null, null, 'timed out'] },
      { instance_id: 'o__r-2', resolved: [0, 1, 0] },
      { instance_id: 'o__r-3', resolved: [null, null], label_reasons: ['no log\u001b[2J', 'no log\u001b[2J'] },
    ];
    const file = cli.jsonl('unknown.jsonl', rows);
    const { code, stdout } = await cli.run(['curves', '--scores', file, '--k', '1,2']);
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toMatch(
      /^Unknown labels: 3 candidates; 1 issue without any known label; excluded from all rates. Most frequent reason \(2\): no log/,
    );
    expect(stdout).toMatch(/^ {2}Unknown labels of 1 candidate in 1 issue: timed out$/m);
    expect(stdout).toMatch(/^ {2}No known label in o__r-3 \(2 candidates\): no log/m);
    expect(stdout).not.toContain('\u001b');
    const json = JSON.parse(
      (await cli.run(['curves', '--scores', file, '--k', '1,2', '--json'])).stdout,
    ) as CurvesReport;
    expect(json.coverage).toMatchObject({
      ...{ issues: 2, candidates: 5, ungraded_candidates: 3, ungraded_issues: 1 },
      unknown_labels: { issues_without_known_label: [{ instance_id: 'o__r-3', candidates: 2 }] },
    });
    // As if they had not been sampled: the mean of 1 of 2 and 1 of 3.
    expect(json.pass_at_k['1']?.value).toBeCloseTo((1 / 2 + 1 / 3) / 2, 12);
    const whole = cli.jsonl('whole.jsonl', [rows[1] ?? {}]);
    expect((await cli.run(['curves', '--scores', whole, '--k', '1'])).stdout).not.toContain('nknown label');
  });

  it('are left out of a calibration, which says how many', async () => {
    const issues = Array.from({ length: 4 }, (_, index) => ({
      instance_id: `o__r${index}-1`,
      resolved: [1, 0, null],
      execution_free: [0.9, 0.2, 0.5],
    }));
    const args = ['--scores', cli.jsonl('calibrated.jsonl', issues), '--out', cli.path('calibration.json')];
    const { code, stdout } = await cli.run(['calibrate', ...args]);
    expect([code, stdout.split('\n')[0]]).toEqual([0, 'Unknown labels: 4 candidates; excluded from all rates.']);
    const { stdout: json } = await cli.run(['calibrate', ...args, '--json']);
    expect(JSON.parse(json)).toMatchObject({ unknown_labels: { candidates: 4 }, data_card: { candidates: 8 } });
  });
});
