/** What of the surroundings a fault needs to be its own. */
export interface Surroundings {
  readonly store: 'postgres' | 'sqlite';
  /** Whether a `bestk worker` runs beside the service. */
  readonly worker: boolean;
  /** Whether the wall clocks of all but the engine can be set; a process that is killed must not stand on such a clock. */
  readonly clocks: boolean;
}

export const DISTRIBUTED: Surroundings = { store: 'postgres', worker: true, clocks: false };
export const EMBEDDED: Surroundings = { store: 'sqlite', worker: false, clocks: false };
export const ON_SET_CLOCKS: Surroundings = { ...DISTRIBUTED, clocks: true };
