import type { Fault } from '../fault.js';
import { DISTRIBUTED } from '../surroundings.js';
import type { TcpProxy } from '../tcp-proxy.js';

/** Locks last six seconds. */
const CUT_MS = 12_000;
const CUT_MS_BRIEF = 8_000;
const MODEL_DOWN_MS = 60_000;
const MODEL_DOWN_MS_BRIEF = 5_000;

export const modelDown: Fault = {
  name: 'model-down',
  surroundings: DISTRIBUTED,
  share: 0.15,
  async strike({ parts: { model } }, _, lasts) {
    const port = Number(new URL(model.baseUrl).port);
    await model.close();
    await lasts(MODEL_DOWN_MS, MODEL_DOWN_MS_BRIEF);
    await model.reopen(port);
  },
};

function cut(how: Parameters<TcpProxy['cut']>[0]): Fault {
  return {
    name: `cut-${how}`,
    surroundings: DISTRIBUTED,
    share: 0.25,
    ...(how === 'silent' ? { unnoticed: true } : {}),
    async strike({ parts: { cable } }, _, lasts) {
      cable?.cut(how);
      await lasts(CUT_MS, CUT_MS_BRIEF);
      cable?.mend();
    },
  };
}

export const networkSilent = cut('silent');
export const networkReset = cut('reset');
