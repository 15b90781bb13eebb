import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../fault.js';
import type { TcpProxy } from '../tcp-proxy.js';

const onPostgres = { store: 'postgres', worker: true } as const;
/** Leases last six seconds. */
const CUT_MS = 12_000;
const CUT_MS_BRIEF = 8_000;
const MODEL_DOWN_MS = 60_000;
const MODEL_DOWN_MS_BRIEF = 5_000;

export const modelDown: Fault = {
  name: 'model-down',
  surroundings: onPostgres,
  share: 0.15,
  async strike({ parts: { model } }, _, brief) {
    const port = Number(new URL(model.baseUrl).port);
    await model.close();
    await sleep(brief ? MODEL_DOWN_MS_BRIEF : MODEL_DOWN_MS);
    await model.reopen(port);
  },
};

function cut(how: Parameters<TcpProxy['cut']>[0]): Fault {
  return {
    name: `cut-${how}`,
    surroundings: onPostgres,
    share: 0.25,
    async strike({ parts: { cable } }, _, brief) {
      cable?.cut(how);
      await sleep(brief ? CUT_MS_BRIEF : CUT_MS);
      cable?.mend();
    },
  };
}

export const networkSilent = cut('silent');
export const networkReset = cut('reset');
