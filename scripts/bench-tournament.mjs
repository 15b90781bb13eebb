// Does a tournament pick better than grades at an equal number of model calls? `npm run bench:tournament`. SIMULATED: the
// judge is a generator of random numbers, described here; nothing is said about any model.
//
// A candidate is right with probability p. Its quality is 1 when right, 0 when wrong. The judge sees quality through
//   bias    an error of its own about each candidate (length, style), the same at every repeat, N(0, bias²)
//   noise   an error of each answer, N(0, noise²)
// Grading answers with a letter of twenty: quality + bias + noise, scaled to the middle of the scale, rounded; the mean of R
// repeats counts. Comparing answers with P(a better) = logistic of the difference of the two, each with its noise; seeing both
// at once, a share of the bias (`shared`) is common to both and cancels. `shared` = 0 gives the comparison no such advantage.
import { allPairs, pivotTournament } from '../dist/verifiers/execution-free/pairs/pairwise.js';

const POOLS = 4_000;
const PIVOTS = 2;
/** Of more no product run compares every pair. */
const ALL_PAIRS = 8;

/** mulberry32: small, seeded, good enough for a simulation. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

async function experiment({ k, p, bias, noise, shared }, seed) {
  const random = generator(seed);
  const pools = [];
  while (pools.length < POOLS) {
    const candidates = Array.from({ length: k }, (_, n) => ({
      id: `c${n}`,
      right: random() < p,
      bias: bias * normal(random),
    }));
    const count = candidates.filter(({ right }) => right).length;
    // Where all or none are right there is nothing to pick.
    if (count > 0 && count < k) pools.push(candidates);
  }
  const result = { tournament: 0, grades: 0, both: 0, calls: 0, pairs: 0 };
  for (const candidates of pools) {
    const byId = new Map(candidates.map((each) => [each.id, each]));
    let calls = 0;
    const see = (each, part) => Number(each.right) + part * each.bias + noise * normal(random);
    const first = (a, b) => {
      calls += 1;
      return 1 / (1 + Math.exp(-4 * (see(a, 1 - shared) - see(b, 1 - shared))));
    };
    const ids = candidates.map(({ id }) => id);
    const both = async (x, y) => {
      const [a, b] = [byId.get(x), byId.get(y)];
      return [first(a, b), 1 - first(b, a)];
    };
    const standings = await pivotTournament(ids, PIVOTS, async (x, y) => {
      const [forth, back] = await both(x, y);
      return (forth + back) / 2;
    });
    const tournamentCalls = calls;
    const all = k <= ALL_PAIRS ? await allPairs(ids, both) : standings;
    const repeats = Math.max(1, Math.round(tournamentCalls / k));
    const grade = (each) => Math.min(19, Math.max(0, Math.round(5 + 9 * see(each, 1))));
    const grades = candidates.map((each) => {
      let sum = 0;
      for (let i = 0; i < repeats; i += 1) sum += grade(each);
      return { right: each.right, mean: sum / repeats };
    });
    const top = Math.max(...grades.map(({ mean }) => mean));
    const tied = grades.filter(({ mean }) => mean === top);
    const won = Number(byId.get(standings[0].id).right);
    const graded = tied.filter(({ right }) => right).length / tied.length;
    result.tournament += won / POOLS;
    result.grades += graded / POOLS;
    result.both += (won - graded) ** 2 / POOLS;
    result.calls += tournamentCalls / POOLS;
    result.pairs += Number(byId.get(all[0].id).right) / POOLS;
  }
  const difference = result.tournament - result.grades;
  const half = 1.96 * Math.sqrt((result.both - difference ** 2) / POOLS);
  return { ...result, difference, half };
}

console.log(
  `SIMULATED judge, ${POOLS} pools with a choice each, ${PIVOTS} pivots, equal calls, and all K(K − 1) pairs; top-1 right in %`,
);
console.log('| K | p | bias | noise | shared | calls | grading | tournament | difference (95%) | all pairs |');
console.log('|---|---|---|---|---|---|---|---|---|---|');
const settings = [4, 8, 16].flatMap((k) =>
  [0, 0.5].flatMap((shared) => [0.4, 0.8].map((bias) => ({ k, p: 0.4, bias, noise: 0.6, shared }))),
);
for (const [index, setting] of settings.entries()) {
  const { calls, grades, tournament, difference, half, pairs } = await experiment(setting, index + 1);
  const percent = (x) => (100 * x).toFixed(1);
  const { k, p, bias, noise, shared } = setting;
  console.log(
    `| ${k} | ${p} | ${bias} | ${noise} | ${shared} | ${calls.toFixed(0)} | ${percent(grades)} | ${percent(tournament)} | ${difference >= 0 ? '+' : ''}${percent(difference)} ± ${percent(half)} | ${setting.k <= ALL_PAIRS ? percent(pairs) : '–'} |`,
  );
}
