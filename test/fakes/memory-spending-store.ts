import type { Amount, PartSpendings } from '../../src/core/budget/budget.js';
import { InterruptedError } from '../../src/core/errors/errors.js';
import { SpendingStore } from '../../src/ports/result-store.js';

interface Part {
  spent: Amount;
  taken: Amount;
  begun: number;
}

const NOTHING: Amount = { tokens: 0, usd: 0 };

/** What runs spend, in memory, with the same promises as a database. */
export class MemorySpendingStore extends SpendingStore {
  private readonly runs = new Map<string, Map<string, Part>>();

  override of(runId: string, part: string): PartSpendings {
    const parts = this.runs.get(runId) ?? new Map<string, Part>();
    this.runs.set(runId, parts);
    const own = (): Part => parts.get(part) ?? { spent: NOTHING, taken: NOTHING, begun: 0 };
    const sum = (of: 'spent' | 'taken'): Amount => [...parts.values()].map((each) => each[of]).reduce(plus, NOTHING);
    let begun = 0;
    const change = (spent: Amount, taken: Amount): void => {
      const now = own();
      const isHeld = now.begun === begun;
      parts.set(part, { ...now, spent: plus(now.spent, spent), taken: isHeld ? plus(now.taken, taken) : now.taken });
    };
    return {
      begin: async () => {
        begun = own().begun + 1;
        parts.set(part, { spent: own().spent, taken: NOTHING, begun });
        return own().spent;
      },
      take: async (room, most) => {
        if (own().begun !== begun) throw new InterruptedError();
        const all = plus(plus(sum('spent'), sum('taken')), room);
        const fits = (unit: keyof Amount): boolean => most[unit] === null || all[unit] <= most[unit];
        if (!fits('tokens') || !fits('usd')) return sum('spent');
        change(NOTHING, room);
        return null;
      },
      settle: async (room, spent) => {
        change(spent, { tokens: -room.tokens, usd: -room.usd });
      },
    };
  }
}

function plus(a: Amount, b: Amount): Amount {
  return { tokens: a.tokens + b.tokens, usd: a.usd + b.usd };
}
