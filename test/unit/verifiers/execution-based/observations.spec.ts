import { compare, MOST_OBSERVED, same } from '../../../../verifiers/execution-based/generated/run-batch.js';

it.each([
  ['5\n', [5], 'solved'],
  ['{"b":[1,{"int":"9"}],"a":0.30000000000000004}\n"x"\n', [{ a: 0.3, b: [1, { int: '9' }] }, 'x'], 'solved'],
  ['6\n', [5], 'not-solved'],
  ['5\n5\n', [5], 'not-solved'],
  ['{"raises":"ValueError"}\n', [5], 'not-solved'],
  ['', [5], 'crashed'],
  ['', [], 'crashed'],
  ['5\n{"a"', [5], 'crashed'],
  [`"${'x'.repeat(MOST_OBSERVED)}"`, ['x'.repeat(MOST_OBSERVED)], 'crashed'],
] as const)('%s against what is expected', (observed, expected, outcome) => {
  expect(compare(observed, [...expected] as Parameters<typeof compare>[1])).toBe(outcome);
});

it.each([
  [
    [1, 2],
    [1, 2, 3],
  ],
  [{ a: null }, {}],
  [{ a: 1 }, { b: 1 }],
  [{ 0: 1 }, [1]],
  [1, '1'],
  [null, {}],
  [true, 1],
  [1e-10, 1],
] as const)('%j and %j are not the same', (a, b) => {
  type Value = Parameters<typeof same>[0];
  expect(same(a as Value, b as Value)).toBe(false);
  expect(same(b as Value, a as Value)).toBe(false);
});
