/** What of the surroundings a fault needs to be its own. */
export interface Surroundings {
  readonly store: 'postgres' | 'sqlite';
  /** Whether a `bestk worker` runs beside the service. */
  readonly worker: boolean;
  /** Megabytes of a file system of its own for the store, or for the engine; absent = the machine's. */
  readonly storeDisk?: number;
  readonly engineDisk?: number;
  /** Whose wall clock can be set. */
  readonly clock?: 'service' | 'worker' | 'database';
}
