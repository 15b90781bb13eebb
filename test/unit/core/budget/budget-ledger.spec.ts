import fc from 'fast-check';
import type { Budget } from '../../../../src/core/budget/budget.js';
import { BudgetLedger } from '../../../../src/core/budget/budget-ledger.js';
import { BudgetSpentError } from '../../../../src/core/errors/unavailable.js';

const NONE: Budget = { tokens: null, usd: null, seconds: null };
const PRICES = { m: { input: 2, cached_input: 0.5, output: 10 } };
const tokens = (input: number, output: number, cached = 0) => ({
  input_tokens: input,
  cached_input_tokens: cached,
  output_tokens: output,
});

it('counts money by the price table, cached input at its own price', () => {
  const ledger = new BudgetLedger(NONE, PRICES, 1);
  ledger.charge('m', tokens(1_000_000, 100_000, 400_000));
  expect(ledger.spent()).toEqual({ tokens: 1_100_000, usd: 0.6 * 2 + 0.4 * 0.5 + 0.1 * 10 });
});

it('does not know what a model without a price costs, whatever the others do', () => {
  const ledger = new BudgetLedger(NONE, PRICES, 1);
  ledger.charge('x', tokens(1, 1));
  ledger.charge('m', tokens(1, 1));
  expect(ledger.spent().usd).toBeNull();
});

it('takes the price of any other model where the table has one', () => {
  const ledger = new BudgetLedger(NONE, { '*': { input: 1, output: 1 } }, 1);
  ledger.charge('x', tokens(500_000, 500_000));
  expect(ledger.spent().usd).toBe(1);
});

it.each([
  ['tokens', { ...NONE, tokens: 100 }],
  ['money', { ...NONE, usd: 0.0002 }],
])('refuses a call that could pass a budget of %s, and says how far it is', (_what, budget) => {
  const ledger = new BudgetLedger(budget, PRICES, 1);
  ledger.reserve('agent', 'm', tokens(40, 10)).settle(tokens(40, 10));
  expect(() => ledger.reserve('agent', 'm', tokens(45, 10))).toThrow(BudgetSpentError);
  expect(() => ledger.reserve('agent', 'm', tokens(5, 1))).not.toThrow();
});

it('keeps a part for the judges', () => {
  const ledger = new BudgetLedger({ ...NONE, tokens: 100 }, {}, 0.8);
  ledger.reserve('agent', 'm', tokens(70, 10)).settle(null);
  expect(() => ledger.reserve('agent', 'm', tokens(1, 0))).toThrow(BudgetSpentError);
  expect(() => ledger.reserve('judge', 'm', tokens(20, 0))).not.toThrow();
  expect(ledger.covers({ tokens: 1, usd: null })).toBe(false);
});

it('is never overspent by calls under way at once that keep to what they reserved', () => {
  const step = fc.record({
    reserved: fc.nat(60),
    used: fc.double({ min: 0, max: 1, noNaN: true }),
    end: fc.constantFrom('settle', 'release', 'unknown', 'open'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 300 }), (steps, limit) => {
      const ledger = new BudgetLedger({ ...NONE, tokens: limit }, {}, 1);
      const open: number[] = [];
      for (const { reserved, used, end } of steps) {
        const fits = ledger.spent().tokens + open.reduce((a, b) => a + b, 0) + reserved <= limit;
        if (!fits) {
          expect(() => ledger.reserve('judge', 'm', tokens(reserved, 0))).toThrow(BudgetSpentError);
          continue;
        }
        const reservation = ledger.reserve('judge', 'm', tokens(reserved, 0));
        if (end === 'settle') reservation.settle(tokens(Math.floor(reserved * used), 0));
        else if (end === 'release') reservation.release();
        else if (end === 'unknown') reservation.settle(null);
        else open.push(reserved);
        reservation.release();
        if (end === 'open') open.pop();
      }
      expect(ledger.spent().tokens).toBeLessThanOrEqual(limit);
    }),
  );
});
