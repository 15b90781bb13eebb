import { grouped } from '../../src/core/grouped.js';
import { type Entry, isEligible, UNKNOWN, voteOf } from './entry.js';
import { SAME_CHANGE } from './evidence.js';
import { Pool } from './pool.js';

/** Probabilities below this are ignored. */
const NEGLIGIBLE = 1e-6;

/** State of an issue's candidates without any verifier. */
export interface Standing {
  /** P(right) of the best patch by votes; null = there is no patch. */
  readonly right: number | null;
  /**
   * Gain in P(the selected patch is right) per further rollout: the maximum over m = 1, 2, … of the expected gain of m
   * rollouts, divided by m. Docs: `docs/bench.md`.
   */
  readonly gain: number;
}

/**
 * One-step look-ahead, or the number of steps that pays best: the knowledge gradient (Frazier, Powell and Dayanik 2008), per
 * rollout over m rollouts as in KG(*) (Frazier and Powell 2010), since a single further vote often decides nothing. The only
 * change considered is that all m rollouts make one other patch, existing or new, and it overtakes the best.
 * @param next the agent of each remaining rollout; empty = nothing can be gained
 */
export function standingOf(entries: readonly Entry[], next: readonly Pick<Entry, 'agent'>[]): Standing {
  const own = entries.filter(isEligible);
  const pool = poolOf(own);
  const [best, ...others] = [...grouped(own, voteOf).values()]
    .flatMap((copies) => copies.slice(0, 1))
    .sort((a, b) => pool.right(b.id) - pool.right(a.id) || (a.id < b.id ? -1 : 1));
  if (best === undefined) {
    return { right: null, gain: next.length === 0 ? 0 : poolOf([NEW]).right(NEW.id) };
  }
  const known = [best, ...others].map((entry) => chanceOfCopy(own, entry));
  const chanceOfNew = Math.max(0, 1 - known.reduce((sum, chance) => sum + chance, 0));
  const rivals = [
    ...others.map((entry, at) => new Rival(own, entry, known[at + 1] ?? 0)),
    new Rival(own, NEW, chanceOfNew),
  ];
  let gain = 0;
  for (const [index, by] of next.entries()) {
    const rest = rivals.filter((rival) => rival.chance > 0);
    const chance = rest.reduce((sum, rival) => sum + rival.chance, 0);
    // P(right) can rise by at most 1.
    if (chance / (index + 1) <= Math.max(gain, NEGLIGIBLE)) break;
    const gained = rest.map((rival) => rival.chance * rival.makeBy(by, best)).reduce((sum, each) => sum + each, 0);
    gain = Math.max(gain, gained / (index + 1));
  }
  return { right: pool.right(best.id), gain };
}

/** A patch that no rollout has made yet. */
const NEW: Entry = { ...UNKNOWN, id: 'new patch', fingerprint: 'new patch', has_source_change: true };

/** A patch that may overtake the best if all of the next rollouts make it. */
class Rival {
  private made = 0;

  /** @param chance P(the next rollout makes it) */
  constructor(
    private pool: readonly Entry[],
    private readonly entry: Entry,
    public chance: number,
  ) {}

  /** Adds a rollout that makes it. @returns its lead over the best in P(right), 0 if it does not lead */
  makeBy(by: Pick<Entry, 'agent'>, best: Entry): number {
    const copy = { ...withoutAgent(this.entry), ...by, id: `${NEW.id} ${this.made}` };
    this.made += 1;
    this.pool = [...this.pool, copy];
    this.chance *= chanceOfCopy(this.pool, copy);
    const pool = poolOf(this.pool);
    return Math.max(0, pool.right(copy.id) - pool.right(best.id));
  }
}

/**
 * P(the next rollout makes this patch), predicted by the model of votes (docs/posterior.md): the rates of right and of wrong
 * patches after n − 1 coincidences in N − 1 tries, weighted by P(right).
 */
function chanceOfCopy(entries: readonly Entry[], entry: Entry): number {
  const others = entries.length - 1;
  const same = entries.filter((each) => voteOf(each) === voteOf(entry)).length - 1;
  const chance = ([alpha, beta]: readonly [number, number]): number => (alpha + same) / (alpha + beta + others);
  const right = poolOf(entries).right(entry.id);
  return right * chance(SAME_CHANGE.right) + (1 - right) * chance(SAME_CHANGE.wrong);
}

function withoutAgent(entry: Entry): Entry {
  const rest: { -readonly [K in keyof Entry]: Entry[K] } = { ...entry };
  delete rest.agent;
  return rest;
}

function poolOf(entries: readonly Entry[]): Pool {
  return new Pool({ instanceId: '', entries });
}
