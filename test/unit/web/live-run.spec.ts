import { NOTHING_YET, withEvents } from '../../../src/web/run/live-run.js';
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
