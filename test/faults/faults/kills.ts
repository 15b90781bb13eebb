import { setTimeout as sleep } from 'node:timers/promises';
import { between, type Fault } from '../fault.js';
import { DISTRIBUTED, EMBEDDED } from '../surroundings.js';

/** Killed, and started again as a service manager would. */
export const serviceKilled: Fault = {
  name: 'service',
  surroundings: DISTRIBUTED,
  share: 1,
  async strike(stage, random) {
    await stage.kill('service');
    await sleep(between(0, 2_000, random));
    await stage.ensureStarted();
  },
};

export const embeddedServiceKilled: Fault = {
  ...serviceKilled,
  name: 'service-sqlite',
  surroundings: EMBEDDED,
};

/** Every other time nobody starts it again while the run is under way. */
export const workerKilled: Fault = {
  name: 'worker',
  surroundings: DISTRIBUTED,
  share: 1,
  async strike(stage, random) {
    await stage.kill('worker');
    if (random() < 0.5) await stage.ensureStarted();
  },
};

/** Every other time together with its containerd. */
export const engineKilled: Fault = {
  name: 'dockerd',
  surroundings: DISTRIBUTED,
  share: 1,
  async strike({ parts: { engine } }, random) {
    engine.kill(random() < 0.5);
    await sleep(between(1_000, 5_000, random));
    await engine.start();
  },
};

export const databaseKilled: Fault = {
  name: 'postgres',
  surroundings: DISTRIBUTED,
  share: 1,
  async strike({ parts: { cluster } }, random) {
    await cluster?.stop('SIGKILL');
    await sleep(between(1_000, 5_000, random));
    await cluster?.start();
  },
};
