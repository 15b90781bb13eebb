import { grouped } from '../../src/core/grouped.js';
import type { Likelihoods } from '../../src/core/run/fitted.js';
import { REGRESSION, REPRODUCTION } from '../../src/core/run/verdict.js';
import { assignments } from './assignments.js';
import { type Entry, isEligible, patchOf } from './entry.js';
import {
  type Copies,
  type Observations,
  observationsOf,
  type Source,
  sourcesOf,
  type TestColumns,
  testColumns,
} from './evidence.js';
import type { Assignments, PoolModel } from './pool-model.js';

/** P(right) of a good patch, which does all that tests can see, and of one that is not good. */
const [GOOD_RIGHT, BAD_RIGHT] = [0.9, 0.02];

/** What is believed about a pool's candidates. */
export interface Beliefs {
  /** P(right) by candidate, 0..1; 0 if it cannot be returned. */
  readonly right: ReadonlyMap<string, number>;
  /** By candidate, each source's contribution to the log-odds of being right; they sum to the log-odds of `right`. */
  readonly logOdds: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /** P(telling), P(indifferent), P(toxic) by generated test; empty unless requested. */
  readonly kinds: ReadonlyMap<string, readonly [number, number, number]>;
  /** P(at least one candidate of `among` is right), 0..1. */
  readonly any: number;
  readonly method: Assignments['method'];
  /** Largest difference between Markov chains in any probability; 0 if enumerated. */
  readonly spread: number;
}

export interface BeliefOptions {
  readonly likelihoods: Likelihoods;
  /** Author of each generated test; absent = one author. */
  readonly authors?: ReadonlyMap<string, string> | undefined;
  /** Use only executed tests and their inferred quality: no judge, no votes, no facts. */
  readonly executedOnly?: boolean;
  /** Whether to also infer the kind of each test. */
  readonly kinds?: boolean;
  /** False = skip the contribution of each source, leaving `logOdds` empty; absent = true. */
  readonly credits?: boolean;
  /** Ids of the candidates `any` is about; absent = all. */
  readonly among?: ReadonlySet<string> | undefined;
}

/**
 * P(right) of every candidate from all evidence on the pool (docs/posterior.md). Sources are added one by one, observations and
 * generated tests last; each is credited with the change it causes.
 * @param entries after `withEqualPatches`: equal patches have equal verdicts
 */
export function beliefsOf(entries: readonly Entry[], options: BeliefOptions): Beliefs {
  const byPatch = grouped(entries.filter(isEligible), patchOf);
  const patches = [...byPatch.keys()].sort().map((patch) => byPatch.get(patch) ?? []);
  const { likelihoods, authors, executedOnly = false, kinds: asked = false, credits = true } = options;
  const sources = sourcesOf(patches, likelihoods).filter(({ name }) => !executedOnly || name === REGRESSION.name);
  const tests = testColumns(patches, likelihoods, authors);
  const observed = observationsOf(patches, likelihoods);
  const { among } = options;
  const counts = patches.map((copies) => among === undefined || copies.some(({ id }) => among.has(id)));
  const steps = stepsOf(patches, { sources, tests, observed, likelihoods, kinds: asked, credits, counts });
  const last = steps.at(-1) as Step;
  const [right, logOdds] = [new Map<string, number>(), new Map<string, Readonly<Record<string, number>>>()];
  for (const { id } of entries) {
    right.set(id, 0);
    logOdds.set(id, {});
  }
  for (const [patch, copies] of patches.entries()) {
    const odds = credits ? oddsBySource(steps, patch) : {};
    for (const { id } of copies) {
      right.set(id, last.right[patch] ?? 0);
      logOdds.set(id, odds);
    }
  }
  const kinds = new Map(asked ? tests.names.map((name, test) => [name, last.kinds[test] ?? NO_KIND]) : []);
  return { right, logOdds, kinds, any: 1 - last.allWrong, method: last.method, spread: last.spread };
}

/** Source name of observing tests. */
const OBSERVATIONS = 'observations';
const NO_KIND = [0, 0, 0] as const;

/** Beliefs after a source was added. */
interface Step extends Pick<Assignments, 'allWrong' | 'kinds' | 'method' | 'spread'> {
  readonly source: string;
  /** P(right) by patch. */
  readonly right: readonly number[];
}

interface Known {
  readonly sources: readonly Source[];
  readonly tests: TestColumns;
  readonly observed: Observations;
  readonly likelihoods: Likelihoods;
  readonly kinds: boolean;
  readonly credits: boolean;
  /** Whether each patch counts in P(all are wrong). */
  readonly counts: readonly boolean[];
}

/** Beliefs after each source; without `credits`, only after the last one. */
function stepsOf(
  patches: readonly Copies[],
  { sources, tests, observed, likelihoods, kinds, credits, counts }: Known,
): readonly Step[] {
  const told = patches.map(() => 0);
  const stepBy = (source: string, model: Pick<PoolModel, 'columns' | 'observed'> = { columns: [] }): Step => ({
    source,
    ...rightBy(told, counts, { ...model, share: likelihoods.share, kinds }),
  });
  const names = ['prior', ...sources.map(({ name }) => name)];
  const executed = executedModels(tests, observed);
  const steps: Step[] = [];
  for (const [at, name] of names.entries()) {
    for (const [patch, leaning] of (sources[at - 1]?.leanings ?? []).entries())
      told[patch] = (told[patch] ?? 0) + leaning;
    const isLast = at === names.length - 1 && executed.length === 0;
    if (credits || isLast) steps.push(stepBy(name));
  }
  const counted = credits ? executed : executed.slice(-1);
  return [...steps, ...counted.map(({ source, ...model }) => stepBy(source, model))];
}

type ExecutedModel = Pick<PoolModel, 'columns' | 'observed'> & { readonly source: string };

/** Models of the executed tests: observing tests first, then with the pass/fail tests added; a part without tests is left out. */
function executedModels(tests: TestColumns, { expected, split }: Observations): readonly ExecutedModel[] {
  const observed = { source: OBSERVATIONS, columns: expected, observed: split };
  const all = { source: REPRODUCTION.name, columns: [...tests.columns, ...expected], observed: split };
  return [...(expected.length + split.length > 0 ? [observed] : []), ...(tests.columns.length > 0 ? [all] : [])];
}

/**
 * Tests cannot tell every wrong patch from a right one: they are evidence of *good* patches, which do what is asked as far as
 * tests can see. A patch is right with `GOOD_RIGHT` if it is good and `BAD_RIGHT` if not, before its own evidence.
 */
function rightBy(
  told: readonly number[],
  counts: readonly boolean[],
  model: Pick<PoolModel, 'columns' | 'observed' | 'share' | 'kinds'>,
): Omit<Step, 'source'> {
  const [good, bad] = [new Mixture(GOOD_RIGHT), new Mixture(BAD_RIGHT)];
  const found = assignments({
    leanings: Float64Array.from(told, (log) => good.log(log) - bad.log(log)),
    ...model,
    wrong: {
      ifGood: Float64Array.from(told, (log, patch) => (counts[patch] === true ? good.logWrong(log) : 0)),
      ifNot: Float64Array.from(told, (log, patch) => (counts[patch] === true ? bad.logWrong(log) : 0)),
    },
  });
  const right = told.map((log, patch) => {
    const p = found.good[patch] ?? 0;
    return rounded(p * good.right(log) + (1 - p) * bad.right(log));
  });
  return { ...found, right };
}

/** A patch that is right with prior p, given evidence with likelihood ratio e^log of right to wrong. */
class Mixture {
  constructor(private readonly p: number) {}

  /** Log-likelihood of that evidence, up to a constant that is the same for every p. */
  log(log: number): number {
    return log > 0
      ? log + Math.log(this.p + (1 - this.p) * Math.exp(-log))
      : Math.log(this.p * Math.exp(log) + 1 - this.p);
  }

  right(log: number): number {
    return 1 / (1 + ((1 - this.p) / this.p) * Math.exp(-log));
  }

  /** Log of P(wrong); finite where `right` rounds to 1. */
  logWrong(log: number): number {
    return Math.log(1 - this.p) - this.log(log);
  }
}

function oddsBySource(steps: readonly Step[], patch: number): Readonly<Record<string, number>> {
  let before = 0;
  return Object.fromEntries(
    steps.map(({ source, right }) => {
      const p = right[patch] ?? 0;
      const here = Math.log(p / (1 - p));
      const added = here - before;
      before = here;
      return [source, Math.round(added * 10_000) / 10_000];
    }),
  );
}

/** Rounded so that candidates the model cannot tell apart are tied; never 0 or 1. */
function rounded(probability: number): number {
  return Math.min(1 - 1e-9, Math.max(1e-9, Math.round(probability * 1e9) / 1e9));
}
