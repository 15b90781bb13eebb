import { seededRandom } from '../../src/core/random.js';
import { groupsOf, type Group, type Posterior, type TestColumn } from './latent-state.js';
import { LatentState } from './latent-state.js';

const MOST_ENUMERATED = 20_000;
const BURN_IN = 200;
const SWEEPS = 2_000;

/**
 * P(right) of every candidate from a matrix of outcomes alone. Each candidate is right or wrong, their share unknown
 * (uniform); each test has a kind (telling, indifferent, toxic) and pass rates on right and on wrong candidates under
 * that kind's Beta priors, which are integrated out. Exact for usual sizes: candidates with equal outcomes are counted,
 * not told apart. Otherwise Gibbs sampling over the candidates, with a fixed seed. A model of annotators without gold
 * labels after Dawid and Skene 1979; the kinds and their priors are ours (docs/execution-based.md).
 * @param columns one a test, each with an outcome a candidate: true = passed, null = unknown
 * @param mostEnumerated above this many assignments they are sampled
 */
export function latentPosterior(
  columns: readonly TestColumn[],
  candidates: number,
  mostEnumerated = MOST_ENUMERATED,
): Posterior {
  const groups = groupsOf(columns, candidates);
  const assignments = groups.reduce((product, { members }) => product * (members.length + 1), 1);
  const state = new LatentState(groups, columns, candidates);
  return assignments <= mostEnumerated ? enumerated(state, groups) : sampled(state, groups);
}

/** Goes through every number of right candidates in every group. */
function enumerated(state: LatentState, groups: readonly Group[]): Posterior {
  const counts = groups.map(() => 0);
  for (let done = false; !done;) {
    state.take(state.logWeight());
    done = true;
    for (const [g, { members }] of groups.entries()) {
      const count = counts[g] ?? 0;
      if (count < members.length) {
        counts[g] = count + 1;
        state.shift(g, 1);
        done = false;
        break;
      }
      counts[g] = 0;
      state.shift(g, -count);
    }
  }
  return state.posterior();
}

/** Moves one candidate after the other between right and wrong, in proportion to what the rest makes likely. */
function sampled(state: LatentState, groups: readonly Group[]): Posterior {
  const random = seededRandom(0);
  for (let sweep = 0; sweep < BURN_IN + SWEEPS; sweep += 1) {
    for (const [g, { members }] of groups.entries()) {
      for (let member = 0; member < members.length; member += 1) state.move(g, random);
    }
    if (sweep >= BURN_IN) state.take(0);
  }
  return state.posterior();
}
