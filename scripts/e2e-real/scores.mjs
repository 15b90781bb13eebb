import { seededRandom } from '../../dist/src/core/random.js';
import { entryOf, chanceOf } from './pool.mjs';

/** How a score of the tests does when the tests are all there are, two of them, or spoilt by toxic ones. */
export const SETS = {
  'all tests': (columns) => [columns],
  // Every pair, so that nobody's luck counts.
  '2 tests': (columns) => columns.flatMap((a, i) => columns.slice(i + 1).map((b) => [a, b])),
  '30% toxic': spoilt,
};

/**
 * Ten tests of which three are toxic. Those three are SIMULATED from the labels: each fails what is right and passes, for
 * each way of being wrong (candidates that the real tests do not tell apart), with 60%.
 */
function spoilt(columns, candidates) {
  const random = seededRandom(1);
  return Array.from({ length: 20 }, () => {
    const kept = columns.toSorted(() => random() - 0.5).slice(0, 7);
    const toxic = Array.from({ length: 3 }, (_, n) => {
      const ways = new Map();
      const solved = candidates.filter(({ right, id }) => {
        const way = columns.map((column) => Number(column.solved.has(id))).join('');
        if (!ways.has(way)) ways.set(way, random() < 0.6);
        return !right && ways.get(way);
      });
      return { test: `toxic-${n}`, solved: new Set(solved.map(({ id }) => id)) };
    });
    return [...kept, ...toxic];
  });
}

/** Rules that choose by what was executed; `latent` looks at the existing tests, too. */
export const TEST_SCORES = {
  'pass count': [{ stage: 'max', by: 'reproduction' }],
  'regression, then pass count': [
    { stage: 'max', by: 'regression' },
    { stage: 'max', by: 'reproduction' },
  ],
  'dual agreement': [{ stage: 'max', by: 'dual_agreement' }],
  latent: [{ stage: 'max', by: 'posterior' }],
};

/** Mean chance to pick right, over every form of a set. */
export function weakened(pool, set, stages) {
  const forms = SETS[set](pool.columns, pool.candidates);
  if (forms.length === 0) return NaN;
  const chances = forms.map((columns) => {
    const entries = pool.candidates.map((candidate) => entryOf(candidate, columns));
    return chanceOf(entries, stages, pool.candidates);
  });
  return chances.reduce((sum, chance) => sum + chance, 0) / chances.length;
}

/** What tests turned out to be worth once the labels are opened. */
export function worth({ columns, candidates }) {
  const passRate = (column, wanted) => {
    const group = candidates.filter(({ right }) => right === wanted);
    return group.filter(({ id }) => column.solved.has(id)).length / group.length;
  };
  let [telling, toxic, indifferent] = [0, 0, 0];
  for (const column of columns) {
    const difference = passRate(column, true) - passRate(column, false);
    if (difference > 0) telling += 1;
    else if (difference < 0) toxic += 1;
    else indifferent += 1;
  }
  return { tests: columns.length, telling, toxic, indifferent };
}
