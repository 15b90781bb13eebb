import type { DataSetInstance } from '../../../../src/io/datasets/data-set.js';
import { DataSetFilter, filtered, FilterError } from '../../../../src/io/datasets/filter.js';
import { Sealed } from '../../../../src/io/datasets/set-reader.js';
import { calculatorIssue } from '../../../fixtures/calculator.js';
import { Issue } from '../../../../src/core/run/issue.js';

const all: readonly DataSetInstance[] = Array.from({ length: 40 }, (_, index) => ({
  set: 'bestk',
  split: null,
  issue: { ...Issue.parse(calculatorIssue), instance_id: `o__r-${index}` },
  repo: 'o/r',
  facts: { repo: index < 30 ? 'o/r' : 'o/s', version: index % 4 },
  sealed: new Sealed(() => ({ tests: null, gold: null })),
}));

function numbers(filter: object, of = all): number[] {
  const left = filtered(of, DataSetFilter.parse(filter));
  return left.map(({ issue }) => Number(issue.instance_id.split('-')[1]));
}

function caught(work: () => unknown): FilterError {
  try {
    work();
  } catch (error) {
    if (error instanceof FilterError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('the filter of a data set', () => {
  it('narrows by columns, ids, positions and parts, in this order', () => {
    expect(numbers({})).toHaveLength(40);
    expect(numbers({ where: ['repo!=o/r', 'version=1,2'] })).toEqual([30, 33, 34, 37, 38]);
    expect(numbers({ where: ['repo=o/s'], slice: '2:5' })).toEqual([32, 33, 34]);
    expect(numbers({ instances: ['o__r-7', 'o__r-3'] })).toEqual([3, 7]);
    expect(numbers({ slice: '35:', shard: '2/3' })).toEqual([36, 39]);
  });

  it.each<[object, string, RegExp]>([
    [{ where: ['colour=red'] }, 'where', /asks for the column "colour", which no instance has/],
    [{ where: ['repo=o/r', 'version=7'] }, 'where', /"version=7" leaves none of 30 instances.*There are: 0, 1, 2, 3/s],
    [{ where: ['repo!=o/r,o/s'] }, 'where', /leaves none of 40 instances/],
    [
      { instances: ['o__r-7', 'o__x-1', 'o__x-2'] },
      'instances',
      /names "o__x-1", "o__x-2", which the data set does not/,
    ],
    [{ where: ['repo=o/s'], instances: ['o__r-7'] }, 'instances', /leaves none of 10 instances/],
    [{ slice: '40:' }, 'slice', /leaves none of 40 instances/],
    [{ slice: '0:2', shard: '3/4' }, 'shard', /leaves none of 2 instances/],
  ])('%j names the part that cannot be followed', (filter, part, words) => {
    const failure = caught(() => numbers(filter));
    expect(failure).toMatchObject({ part, place: { field: `filter.${part}` } });
    expect(`${failure.message} ${failure.next}`).toMatch(words);
  });

  it('puts every instance into one part', () => {
    const parts = ['1/7', '2/7', '3/7', '4/7', '5/7', '6/7', '7/7'].flatMap((shard) => numbers({ shard }));
    expect(parts.sort((a, b) => a - b)).toEqual(numbers({}));
  });

  it('draws the same sample whatever stands beside it, and another for another seed', () => {
    const drawn = numbers({ sample: 10 });
    expect(drawn).toHaveLength(10);
    expect(numbers({ sample: 10 }, all.toReversed()).toReversed()).toEqual(drawn);
    expect(numbers({ sample: 10, seed: 2 })).not.toEqual(drawn);
    // Of fewer, those that were drawn before are drawn again.
    const half = all.filter((_, index) => index % 2 === 0);
    expect(numbers({ sample: 10 }, half)).toEqual(expect.arrayContaining(drawn.filter((n) => n % 2 === 0)) as number[]);
  });
});
