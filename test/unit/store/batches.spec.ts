import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { Batches } from '../../../src/store/statements.js';

const LETTERS = (item: string): number => item.length;

it('does what comes alone alone, and what comes meanwhile together, in order, each line by itself', async () => {
  const done: string[] = [];
  const batches = new Batches<string, string>(async (items) => {
    await turn();
    done.push(items.join(''));
    return items.map((item) => item.toUpperCase());
  }, LETTERS);
  const all = ['a', 'b', 'c'].map((item) => batches.do('one', item));
  const other = batches.do('two', 'x');
  expect(await Promise.all(all)).toEqual(['A', 'B', 'C']);
  expect(await other).toBe('X');
  expect(await batches.do('one', 'd')).toBe('D');
  expect(done).toEqual(['a', 'x', 'bc', 'd']);
});

it('tells all that were done together of their failure, and goes on with the next', async () => {
  const batches = new Batches<string, string>(async (items) => {
    await turn();
    if (items.includes('bad')) throw new Error(`failed: ${items.join(' ')}`);
    return items;
  }, LETTERS);
  const first = batches.do('', 'good');
  const together = ['bad', 'unlucky'].map((item) => batches.do('', item).catch(String));
  expect(await first).toBe('good');
  expect(await Promise.all(together)).toEqual(['Error: failed: bad unlucky', 'Error: failed: bad unlucky']);
  expect(await batches.do('', 'later')).toBe('later');
});

it('gives each its own, in pieces that stay below a hundred items and a million letters', async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 700_000 }), { maxLength: 12 });
  const many = fc.nat({ max: 250 });
  await fc.assert(
    fc.asyncProperty(sizes, many, async (large, small) => {
      const pieces: number[][] = [];
      const batches = new Batches<number, number>(
        async (items) => {
          await turn();
          pieces.push([...items]);
          return items;
        },
        (item) => item,
      );
      const items = [...large, ...Array.from({ length: small }, () => 1)];
      expect(await Promise.all(items.map((item) => batches.do('', item)))).toEqual(items);
      expect(pieces.flat()).toEqual(items);
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(100);
        const letters = piece.reduce((sum, item) => sum + item, 0);
        expect(letters <= 1_000_000 || piece.length === 1).toBe(true);
      }
    }),
    { numRuns: 50 },
  );
});
