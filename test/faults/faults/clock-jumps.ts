import type { Fault } from '../fault.js';
import type { Surroundings } from '../surroundings.js';

const HOUR_S = 3_600;
const JUMPS_S = [HOUR_S, -HOUR_S, 24 * HOUR_S, -24 * HOUR_S];

/** Jumps by an hour or a day, forth or back; stays so until the run has ended. */
function clockJump(whose: NonNullable<Surroundings['clock']>): Fault {
  return {
    name: `clock-${whose}`,
    surroundings: { store: 'postgres', worker: true, clock: whose },
    share: 0.25,
    strike({ parts: { clock } }, random) {
      clock.jump(JUMPS_S[Math.floor(random() * JUMPS_S.length)] ?? HOUR_S);
      return Promise.resolve();
    },
  };
}

export const serviceClockJumps = clockJump('service');
export const workerClockJumps = clockJump('worker');
export const databaseClockJumps = clockJump('database');
