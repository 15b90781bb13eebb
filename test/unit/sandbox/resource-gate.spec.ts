import { ResourceGate } from '../../../src/sandbox/container/host-resources.js';
import { GivenResources } from '../../fakes/given-room.js';

const quiet = new AbortController().signal;
const HOUR_MS = 3_600_000;

function world(makeRoom?: () => Promise<void>) {
  const room = new GivenResources();
  const warned: string[] = [];
  const warn = (text: string): void => void warned.push(text);
  const options = { room, warn, patienceMs: 60, storePatienceMs: 30, lookEveryMs: 5 };
  return { room, warned, gate: new ResourceGate(makeRoom === undefined ? options : { ...options, makeRoom }) };
}

it('lets everybody pass while there is room', async () => {
  const { gate, warned } = world();
  await gate.pass(() => false, HOUR_MS, quiet);
  expect(warned).toEqual([]);
});

it('waits while others are open, tells so once, and goes on by itself', async () => {
  const { gate, room, warned } = world();
  room.free.engine = 99;
  const passing = [1, 2].map(() => gate.pass(() => true, HOUR_MS, quiet));
  await new Promise((resolve) => setTimeout(resolve, 150));
  room.free.engine = 100;
  await Promise.all(passing);
  expect(warned).toEqual([
    expect.stringContaining('BESTK_MIN_FREE_DISK_MB') as string,
    'Resources are available again: new sandboxes start.',
  ]);
});

it('is told why when nothing of ours is open and no room comes', async () => {
  const { gate, room } = world();
  room.free.memory = 0;
  await expect(gate.pass(() => false, HOUR_MS, quiet)).rejects.toMatchObject({ code: 'memory-low', retryable: false });
});

it('waits for the store no longer than the store does, whatever else is open', async () => {
  const { gate, room } = world();
  room.free.store = 0;
  const refused = {
    code: 'store-unavailable',
    message: expect.stringContaining('low on disk for the store') as string,
  };
  await expect(gate.pass(() => true, HOUR_MS, quiet)).rejects.toMatchObject(refused);
});

it('waits no longer than sandboxes live, so that one that waits for another is no dead end', async () => {
  const { gate, room } = world();
  room.free.engine = 0;
  await expect(gate.pass(() => true, 30, quiet)).rejects.toMatchObject({ code: 'disk-low' });
});

it('stops waiting when told to', async () => {
  const { gate, room } = world();
  room.free.engine = 0;
  const stop = new AbortController();
  const passing = gate.pass(() => true, HOUR_MS, stop.signal);
  stop.abort(new Error('cancelled'));
  await expect(passing).rejects.toThrow('cancelled');
});

it('frees what can be freed before anybody waits', async () => {
  const world1 = world(async () => {
    world1.room.free.engine = 1_000;
  });
  world1.room.free.engine = 0;
  await world1.gate.pass(() => false, HOUR_MS, quiet);
  expect(world1.warned).toEqual([]);
});
