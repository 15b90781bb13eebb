import type { Fault } from './fault.js';
import { databaseClockJumps, serviceClockJumps, workerClockJumps } from './faults/clock-jumps.js';
import { modelDown, networkReset, networkSilent } from './faults/connections.js';
import { engineDiskFull, postgresDiskFull, sqliteDiskFull } from './faults/full-disks.js';
import { databaseKilled, embeddedServiceKilled, engineKilled, serviceKilled, workerKilled } from './faults/kills.js';

/** Those with the same surroundings stand together. */
export const FAULTS: readonly Fault[] = [
  serviceKilled,
  workerKilled,
  engineKilled,
  databaseKilled,
  modelDown,
  networkSilent,
  networkReset,
  postgresDiskFull,
  engineDiskFull,
  embeddedServiceKilled,
  sqliteDiskFull,
  serviceClockJumps,
  workerClockJumps,
  databaseClockJumps,
];
