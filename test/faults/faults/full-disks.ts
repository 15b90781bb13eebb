import type { Fault, Lasts } from '../fault.js';
import type { Stage } from '../stage.js';
import { DISTRIBUTED, EMBEDDED } from '../surroundings.js';

const FULL_MS = 8_000;
const FULL_MS_BRIEF = 3_000;

async function fillStore({ parts: { disk, cluster } }: Stage, lasts: Lasts): Promise<void> {
  disk.fill();
  await lasts(FULL_MS, FULL_MS_BRIEF);
  disk.free();
  // A server that found no room for its log ends; its service manager starts it again.
  if (cluster?.isUp === false) await cluster.start();
}

export const sqliteDiskFull: Fault = {
  name: 'disk-sqlite',
  surroundings: EMBEDDED,
  share: 0.25,
  strike: (stage, _, lasts) => fillStore(stage, lasts),
};

export const postgresDiskFull: Fault = {
  name: 'disk-postgres',
  surroundings: DISTRIBUTED,
  share: 0.25,
  strike: (stage, _, lasts) => fillStore(stage, lasts),
};

export const engineDiskFull: Fault = {
  name: 'disk-dockerd',
  surroundings: DISTRIBUTED,
  share: 0.25,
  async strike({ parts: { engine } }, _, lasts) {
    engine.disk.fill();
    await lasts(FULL_MS, FULL_MS_BRIEF);
    engine.disk.free();
  },
};
