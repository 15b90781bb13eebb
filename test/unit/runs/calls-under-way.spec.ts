import { setTimeout as sleep } from 'node:timers/promises';
import { CallsUnderWay } from '../../../src/runs/spread-run.js';
import { until } from '../../fixtures/run-world.js';

interface Told {
  readonly under_way: readonly { readonly purpose: string; readonly model: string; readonly calls: number }[];
}

function watched(everyMs: number) {
  const told: Told[] = [];
  const calls = new CallsUnderWay(async (_type, data) => {
    told.push(data as unknown as Told);
  }, everyMs);
  return { told, calls };
}

describe('model calls under way', () => {
  it('are told by purpose and model, together, until all have ended', async () => {
    const { told, calls } = watched(5);
    const ends = ['judge', 'judge', 'test-writer', 'agent'].map((purpose) => calls.begin({ purpose, model: 'm' }));
    await until(async () => told.length === 1);
    expect(told[0]?.under_way).toMatchObject([
      { purpose: 'judge', model: 'm', calls: 2 },
      { purpose: 'test-writer', model: 'm', calls: 1 },
    ]);
    for (const end of ends) end();
    await until(async () => told.length === 2);
    expect(told[1]).toEqual({ under_way: [] });
  });

  it('are not told when they end at once, or when their run is over', async () => {
    const { told, calls } = watched(5);
    calls.begin({ purpose: 'judge', model: 'm' })();
    await sleep(20);
    calls.begin({ purpose: 'judge', model: 'm' });
    calls[Symbol.dispose]();
    calls.begin({ purpose: 'judge', model: 'm' });
    await sleep(20);
    expect(told).toEqual([]);
  });
});
