import type { Clocks } from '../faked-clock.js';
import type { Fault } from '../fault.js';
import { ON_SET_CLOCKS } from '../surroundings.js';

const HOUR_S = 3_600;
const JUMPS_S = [HOUR_S, -HOUR_S, 24 * HOUR_S, -24 * HOUR_S];

/** Jumps by an hour or a day, forth or back; stays so until the run has ended. */
function clockJump(whose: keyof Clocks): Fault {
  return {
    name: `clock-${whose}`,
    surroundings: ON_SET_CLOCKS,
    share: 0.25,
    strike({ parts: { clocks } }, random) {
      clocks[whose].jump(JUMPS_S[Math.floor(random() * JUMPS_S.length)] ?? HOUR_S);
      return Promise.resolve();
    },
  };
}

export const serviceClockJumps = clockJump('service');
export const workerClockJumps = clockJump('worker');
export const databaseClockJumps = clockJump('database');
