import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import type { Stage } from '../stage.js';

const FULL_MS = 8_000;
const FULL_MS_BRIEF = 3_000;

async function fillStore({ parts: { disk, cluster } }: Stage, brief: boolean): Promise<void> {
  disk?.fill();
  await sleep(brief ? FULL_MS_BRIEF : FULL_MS);
  disk?.free();
  // A server that found no room for its log ends; its service manager starts it again.
  if (cluster?.isUp === false) await cluster.start();
}

export const sqliteDiskFull: Fault = {
  name: 'disk-sqlite',
  surroundings: { store: 'sqlite', worker: false, storeDisk: 32 },
  share: 0.25,
  strike: (stage, _, brief) => fillStore(stage, brief),
};

export const postgresDiskFull: Fault = {
  name: 'disk-postgres',
  surroundings: { store: 'postgres', worker: true, storeDisk: 256 },
  share: 0.25,
  strike: (stage, _, brief) => fillStore(stage, brief),
};

export const engineDiskFull: Fault = {
  name: 'disk-dockerd',
  surroundings: { store: 'postgres', worker: true, engineDisk: 1024 },
  share: 0.25,
  async strike({ parts: { engine } }, _, brief) {
    engine.disk?.fill();
    await sleep(brief ? FULL_MS_BRIEF : FULL_MS);
    engine.disk?.free();
  },
};
