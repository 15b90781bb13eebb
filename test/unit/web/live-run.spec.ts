import { NOTHING_YET, withEvents } from '../../../src/web/run/live-run.js';
import { waitForGrades } from '../../../src/web/run/live-progress.js';
import type { RunEvent } from '../../../src/ports/run-store.js';

describe('a run that was interrupted and resumed', () => {
  it.each(['one by one', 'all at once'])('counts each outcome once if its events come %s', (how) => {
    const verdict = { kind: 'scored', candidate_id: 'a', measure: 'm', score: 1, out_of: 1, evidence: {} };
    const cell = { candidate_id: 'a', suite: 'reproduction', test_id: 't', outcome: 'solved' };
    const step = { candidate_id: 'a', step: 3, tool: 'bash' };
    const told: readonly (readonly [string, object])[] = [
      ['status', { status: 'running' }],
      ['step', step],
      ['cell', cell],
      ['verdict', verdict],
      ['status', { status: 'queued' }],
      ['status', { status: 'running' }],
      ['cell', cell],
      ['verdict', verdict],
    ];
    const events = told.map(([type, data], seq) => ({ run_id: 'r', seq, at: '', type, data }) as unknown as RunEvent);
    const batches = how === 'all at once' ? [events] : events.map((event) => [event]);
    const live = batches.reduce(withEvents, NOTHING_YET);
    expect([live.cells.length, live.verdicts.length, live.tries.get('a')?.steps]).toEqual([1, 1, 3]);
  });
});

describe('the grades of a run', () => {
  const ungraded = { graded: false, labels: [] };

  it('are asked for after longer and longer waits, and no more after two hours', () => {
    const waits = Array.from({ length: 20 }, (_, looks) => waitForGrades('done', ungraded, looks) ?? 0);
    expect(waits.slice(0, 4)).toEqual([2_000, 4_000, 8_000, 16_000]);
    const hours = waits.reduce((sum, wait) => sum + wait) / 3_600_000;
    expect(Math.round(hours)).toBe(2);
  });

  it('are asked for only while there can be new ones', () => {
    expect(waitForGrades('done', null, 0)).toBe(2_000);
    expect(waitForGrades('done', { graded: true, labels: [] }, 0)).toBeNull();
    for (const status of [undefined, 'queued', 'running', 'failed', 'cancelled'] as const) {
      expect(waitForGrades(status, ungraded, 0)).toBeNull();
    }
  });
});
