import fc from 'fast-check';
import { type Budget, BudgetLedger } from '../../../../src/core/budget/budget.js';
import { BudgetSpentError } from '../../../../src/core/errors/unavailable.js';
import { MemorySpendingStore } from '../../../fakes/memory-spending-store.js';

const NONE: Budget = { tokens: null, usd: null, seconds: null };
const PRICES = { m: { input: 2, cached_input: 0.5, output: 10 } };
const tokens = (input: number, output: number, cached = 0) => ({
  input_tokens: input,
  cached_input_tokens: cached,
  output_tokens: output,
});

function limited(
  budget: Budget,
  { store = new MemorySpendingStore(), part = 'run', agentShare = 1 } = {},
): BudgetLedger {
  return new BudgetLedger(budget, PRICES, agentShare, store.of('a run', part));
}

it('counts money by the price table, cached input at its own price', async () => {
  const ledger = new BudgetLedger(NONE, PRICES, 1, null);
  await ledger.charge('m', tokens(1_000_000, 100_000, 400_000));
  expect(ledger.spent()).toEqual({ tokens: 1_100_000, usd: 0.6 * 2 + 0.4 * 0.5 + 0.1 * 10 });
});

it('does not know what a model without a price costs, whatever the others do', async () => {
  const ledger = new BudgetLedger(NONE, PRICES, 1, null);
  await ledger.charge('x', tokens(1, 1));
  await ledger.charge('m', tokens(1, 1));
  expect(ledger.spent().usd).toBeNull();
});

it('covers no more than what is left beside the calls whose price is known', async () => {
  const ledger = limited({ ...NONE, usd: 1 });
  await ledger.charge('m', tokens(400_000, 0));
  await ledger.charge('x', tokens(1, 1));
  const covers = [0.2, 0.3].map((usd) => ledger.covers({ tokens: 0, usd }));
  expect([ledger.spent().usd, covers]).toEqual([null, [true, false]]);
});

it('takes the price of any other model where the table has one', async () => {
  const ledger = new BudgetLedger(NONE, { '*': { input: 1, output: 1 } }, 1, null);
  await ledger.charge('x', tokens(500_000, 500_000));
  expect(ledger.spent().usd).toBe(1);
});

it.each([
  ['tokens', { ...NONE, tokens: 100 }],
  ['money', { ...NONE, usd: 0.0002 }],
])('refuses a call that could pass a budget of %s, and says how far it is', async (_what, budget) => {
  const ledger = limited(budget);
  await (await ledger.reserve('agent', 'm', tokens(40, 10))).settle(tokens(40, 10));
  await expect(ledger.reserve('agent', 'm', tokens(45, 10))).rejects.toThrow(BudgetSpentError);
  await expect(ledger.reserve('agent', 'm', tokens(5, 1))).resolves.toBeDefined();
});

it('keeps a part for the judges', async () => {
  const ledger = limited({ ...NONE, tokens: 100 }, { agentShare: 0.8 });
  await (await ledger.reserve('agent', 'm', tokens(70, 10))).settle(null);
  await expect(ledger.reserve('agent', 'm', tokens(1, 0))).rejects.toThrow(BudgetSpentError);
  await expect(ledger.reserve('judge', 'm', tokens(20, 0))).resolves.toBeDefined();
  expect(ledger.covers({ tokens: 1, usd: null })).toBe(false);
});

it('does not count twice what a process before had paid for the same part', async () => {
  const store = new MemorySpendingStore();
  const budget = { ...NONE, tokens: 100 };
  const first = limited(budget, { store });
  await (await first.reserve('judge', 'm', tokens(60, 0))).settle(tokens(60, 0));
  await first.reserve('judge', 'm', tokens(40, 0));
  const next = limited(budget, { store });
  await (await next.reserve('judge', 'm', tokens(60, 0))).settle(tokens(60, 0));
  await expect(next.reserve('judge', 'm', tokens(41, 0))).rejects.toThrow(/60 of 100 tokens are used/);
  await (await next.reserve('judge', 'm', tokens(40, 0))).settle(tokens(40, 0));
  expect(next.spent().tokens).toBe(100);
  expect(await store.of('a run', 'run').begin()).toEqual({ tokens: 100, usd: expect.closeTo(0.0002) as number });
});

it('holds parts in several processes to one budget', async () => {
  const store = new MemorySpendingStore();
  const [a, b] = ['a', 'b'].map((part) => limited({ ...NONE, tokens: 100 }, { store, part }));
  await a?.reserve('judge', 'm', tokens(70, 0));
  await expect(b?.reserve('judge', 'm', tokens(40, 0))).rejects.toThrow(BudgetSpentError);
  await expect(b?.reserve('judge', 'm', tokens(30, 0))).resolves.toBeDefined();
});

it('is never overspent by calls under way at once that keep to what they reserved', async () => {
  const step = fc.record({
    reserved: fc.nat(60),
    used: fc.double({ min: 0, max: 1, noNaN: true }),
    end: fc.constantFrom('settle', 'release', 'unknown', 'open'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 300 }), async (steps, limit) => {
      const ledger = limited({ ...NONE, tokens: limit });
      let open = 0;
      for (const { reserved, used, end } of steps) {
        if (ledger.spent().tokens + open + reserved > limit) {
          await expect(ledger.reserve('judge', 'm', tokens(reserved, 0))).rejects.toThrow(BudgetSpentError);
          continue;
        }
        const reservation = await ledger.reserve('judge', 'm', tokens(reserved, 0));
        if (end === 'settle') await reservation.settle(tokens(Math.floor(reserved * used), 0));
        else if (end === 'unknown') await reservation.settle(null);
        if (end === 'open') open += reserved;
        else await reservation.release();
      }
      expect(ledger.spent().tokens).toBeLessThanOrEqual(limit);
    }),
  );
});
