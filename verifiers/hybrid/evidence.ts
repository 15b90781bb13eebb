import { grouped } from '../../src/core/grouped.js';
import { HOLDING } from '../../src/core/run/generated-test.js';
import type { JudgeLikelihood, Likelihoods, Rates } from '../../src/core/run/fitted.js';
import { EXECUTION_FREE, measureNamed, REGRESSION, REPRODUCTION } from '../../src/core/run/verdict.js';
import { changeOf, type Entry, voteOf } from './entry.js';
import { BetaTable, type ObservedColumn, type TestColumn } from './outcome-tables.js';

/** Weak assumptions for use without labels; docs/posterior.md has the source of each number. */
export const STATED: Likelihoods = {
  share: [0.3, 0.3],
  judges: {},
  existing_tests: { right: [9, 1], wrong: [2, 1] },
  // Tests that hold on base behave like existing tests.
  generated_tests: { '*': { right: [9, 1], wrong: [1, 2] }, [HOLDING]: { right: [9, 1], wrong: [2, 1] } },
  test_correlation: 0.3,
  submitted: { right: [19, 1], wrong: [17, 3] },
};

/** Likelihood of a judge without labels, then the largest shift in log-odds per judge: without labels, and fitted to labels. */
const STATED_JUDGE: JudgeLikelihood = { intercept: 0, slope: 0.5 };
const MOST_STATED = 2;
const MOST_FITTED = 4;
/** A judge's probability is clipped to this distance from 0 and 1. */
const SUREST = 0.005;
/** Judges err alike: each of J weighs 1 / (1 + (J − 1) × this), the design effect (Kish 1965). */
const JUDGE_CORRELATION = 0.5;
/** Beta prior of P(another candidate makes the same change), for right and for wrong patches. */
export const SAME_CHANGE: Rates = { right: [0.05, 1.3], wrong: [0.03, 7.5] };
/** Share of one agent's coinciding mistakes that other agents make too; the rest are specific to the agent. */
const SHARED_MISTAKES = 0.5;
/** The existing tests count as kept if at most this share of them is lost. */
const LOSS_TOLERATED = 0.001;
/** Evidence that shifts the odds by less than this in both directions is ignored. */
const MUTED = Math.log(1.25);

/** Evidence from one source, per patch, as the log-likelihood ratio of right to wrong. */
export interface Source {
  readonly name: string;
  readonly leanings: readonly number[];
}

/** The candidates with one patch, in any order. */
export type Copies = readonly Entry[];

/** Evidence about each patch by itself, per source; sources that say nothing about any patch are left out. */
export function sourcesOf(patches: readonly Copies[], likelihoods: Likelihoods): readonly Source[] {
  const judges = judgesOf(patches);
  const weight = 1 / (1 + (judges.length - 1) * JUDGE_CORRELATION);
  const sources: Source[] = [
    ...judges.map((name) => ({
      name,
      leanings: known(patches, name, ([entry]) => {
        const p = probability(entry, name);
        return p === null ? null : weight * judged(p, likelihoods.judges[name]);
      }),
    })),
    {
      name: REGRESSION.name,
      leanings: known(patches, REGRESSION.name, ([entry]) => held(keptTests(entry), likelihoods.existing_tests)),
    },
    { name: 'votes', leanings: votes(patches) },
    {
      name: 'submitted',
      leanings: known(patches, 'submitted', (copies) => held(submitted(copies), likelihoods.submitted)),
    },
  ];
  return sources.filter(({ leanings }) => leanings.some((leaning) => leaning !== 0));
}

/** Unknown counts as 0, clamped to the range of the known values; the lowest of these if the patch may have caused it. */
function known(
  patches: readonly Copies[],
  source: string,
  leaningOf: (copies: Copies) => number | null,
): readonly number[] {
  const leanings = patches.map(leaningOf);
  const told = leanings.filter((leaning) => leaning !== null);
  const [lowest, highest] = told.length === 0 ? [0, 0] : [Math.min(...told), Math.max(...told)];
  const unknown = Math.min(Math.max(0, lowest), highest);
  return leanings.map((leaning, patch) => leaning ?? (isLost(patches[patch], source) ? lowest : unknown));
}

function isLost([entry]: Copies = [], source: string): boolean {
  const isOf = (measure: string): boolean =>
    measure === source || (source === EXECUTION_FREE.name && measureNamed(measure).kind === 'judge');
  return entry?.lost?.some(isOf) === true;
}

/** A patch under which every sandbox was lost counts as failing the tests that another one fails. */
function withLost(patches: readonly Copies[], outcomes: TestColumn['outcomes']): TestColumn['outcomes'] {
  const lowest = outcomes.includes(false) ? false : outcomes.includes(true) ? true : null;
  return outcomes.map((outcome, patch) => outcome ?? (isLost(patches[patch], REPRODUCTION.name) ? lowest : null));
}

/** Names of the judges with a score on any patch. The mean over judges does not count as a further judge. */
export function judgesOf(patches: readonly Copies[]): readonly string[] {
  const named = new Set(
    patches.flatMap(([entry]) =>
      Object.entries(entry?.measures ?? {}).flatMap(([name, p]) =>
        p !== null && measureNamed(name).kind === 'judge' ? [name] : [],
      ),
    ),
  );
  return named.size > 0 ? [...named].sort() : [EXECUTION_FREE.name];
}

/** P(right) by one judge; null when it abstained. */
export function probability(entry: Entry | undefined, judge: string): number | null {
  if (judge === EXECUTION_FREE.name) return entry?.execution_free ?? null;
  return entry?.measures?.[judge] ?? null;
}

function judged(p: number, fitted: JudgeLikelihood | undefined): number {
  const { intercept, slope } = fitted ?? STATED_JUDGE;
  const most = fitted === undefined ? MOST_STATED : MOST_FITTED;
  return Math.min(most, Math.max(-most, intercept + slope * logitOf(p)));
}

/** Log-odds of a judge's probability, clipped near 0 and 1. */
export function logitOf(p: number): number {
  const kept = Math.min(1 - SUREST, Math.max(SUREST, p));
  return Math.log(kept / (1 - kept));
}

/** Whether it keeps the existing tests that passed on base, up to a tolerance; null when unknown. */
export function keptTests(entry: Entry | undefined): boolean | null {
  const { regression = null, regression_out_of: total = null } = entry ?? {};
  return regression === null || total === null ? null : total - regression <= total * LOSS_TOLERATED;
}

/** A patch counts as submitted if any of its candidates was. */
export function submitted(copies: Copies): boolean | null {
  if (copies.some(({ finished }) => finished === true)) return true;
  return copies.some(({ finished }) => finished === false) ? false : null;
}

/** Log-likelihood ratio of a binary outcome; 0 when it is negligible either way, null when unknown. */
function held(holds: boolean | null, { right, wrong }: Rates): number | null {
  if (holds === null) return null;
  const ratios = [true, false].map((outcome) => Math.log(mean(right, outcome) / mean(wrong, outcome)));
  if (ratios.every((ratio) => Math.abs(ratio) < MUTED)) return 0;
  return (holds ? ratios[0] : ratios[1]) ?? 0;
}

function mean([a, b]: Rates['right'], holds: boolean): number {
  return (holds ? a : b) / (a + b);
}

/**
 * n of the K − 1 other candidates make the same change: Beta-binomial with the rates of right and of wrong patches. Changes are
 * equal if their syntax trees or, where these are unknown, their changed lines are. Rollouts of one agent share mistakes, so each agent has independent rates, and those of a
 * wrong patch are smaller for agents that did not make it. The agents' log-likelihood ratios add up.
 */
function votes(patches: readonly Copies[]): readonly number[] {
  // Candidates whose agent saw others have no independent vote.
  const voters = patches.flat().filter(({ told }) => told !== true);
  const known = voters.some((voter) => changeOf(voter) !== null);
  if (!known || voters.length < 2) return patches.map(() => 0);
  const right = new BetaTable(SAME_CHANGE.right, voters.length);
  const [alpha, beta] = SAME_CHANGE.wrong;
  const wrong = new BetaTable([alpha, beta], voters.length);
  const wrongByOthers = new BetaTable([alpha * SHARED_MISTAKES, beta], voters.length);
  const byAgent = [...grouped(voters, ({ agent = '' }) => agent)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([agent, own]) => ({ agent, all: own.length, sizes: grouped(own, voteOf) }));
  return patches.map((copies) => {
    const [entry] = copies;
    if (entry === undefined || changeOf(entry) === null) return 0;
    const change = voteOf(entry);
    const votes = byAgent.map(({ agent, all, sizes }) => ({ agent, all, made: sizes.get(change)?.length ?? 0 }));
    // The patch itself is not a vote: subtract it from the agent that made it most often.
    const makers = new Set(copies.flatMap(({ told, agent = '' }) => (told === true ? [] : [agent])));
    const [maker] = votes.filter(({ agent }) => makers.has(agent)).sort((a, b) => b.made - a.made);
    return votes.reduce((sum, { agent, all, made }) => {
      const same = made - (agent === maker?.agent ? 1 : 0);
      const ifWrong = maker === undefined || agent === maker.agent ? wrong : wrongByOthers;
      return sum + right.log(same, all - made) - ifWrong.log(same, all - made);
    }, 0);
  });
}

/** The outcomes of the generated tests, one column each, and the names of the named ones. */
export interface TestColumns {
  readonly columns: readonly TestColumn[];
  /** Names of the first columns; the remaining ones are tests that no patch solved, whose names are unknown. */
  readonly names: readonly string[];
}

/**
 * One column per admitted generated test. Tests by one author repeat each other: each of m has weight 1 / (1 + (m − 1) ×
 * correlation), so that together they count as fewer independent tests (the design effect, Kish 1965).
 * @param authors by test id; absent = one author
 */
export function testColumns(
  patches: readonly Copies[],
  { generated_tests: rates, test_correlation: correlation }: Likelihoods,
  authors: ReadonlyMap<string, string> | undefined,
): TestColumns {
  const entries = patches.map(([entry]) => entry);
  const names = [...new Set(entries.flatMap((entry) => [...(entry?.solved ?? []), ...(entry?.failed ?? [])]))].sort();
  const total = entries.reduce((most, entry) => Math.max(most, ran(entry) ? (entry?.reproduction_out_of ?? 0) : 0), 0);
  const unnamed = Math.max(0, total - names.length);
  const authorOf = (name: string): string => authors?.get(name) ?? '*';
  const written = grouped([...names, ...Array.from({ length: unnamed }, () => '')], authorOf);
  const columnOf = (author: string, outcomes: readonly (boolean | null)[]): TestColumn => ({
    outcomes: withLost(patches, outcomes),
    weight: 1 / (1 + ((written.get(author)?.length ?? 1) - 1) * correlation),
    rates: rates[author] ?? rates['*'] ?? UNKNOWN_AUTHOR,
  });
  const solved = entries.map((entry) => new Set(entry?.solved ?? []));
  const failed = entries.map((entry) => ((entry?.failed ?? null) === null ? null : new Set(entry?.failed)));
  const outcome = (name: string, patch: number): boolean | null => {
    if (!ran(entries[patch])) return null;
    if (solved[patch]?.has(name) === true) return true;
    const against = failed[patch] ?? null;
    return against === null || against.has(name) ? false : null;
  };
  return {
    columns: [
      ...names.map((name) =>
        columnOf(
          authorOf(name),
          entries.map((_, patch) => outcome(name, patch)),
        ),
      ),
      ...Array.from({ length: unnamed }, () =>
        columnOf(
          '*',
          entries.map((entry, patch) => (ran(entry) && failed[patch] === null ? false : null)),
        ),
      ),
    ],
    names,
  };
}

/** Results of observing tests: one column per test that splits the patches or has an expectation. */
export interface Observations {
  /** Tests whose author stated the right result, and whether a patch differs from base on any input, if some do and some do not. */
  readonly expected: readonly TestColumn[];
  readonly split: readonly ObservedColumn[];
}

/** All observing tests have one author: like generated tests, m of them weigh as much as fewer independent ones. */
export function observationsOf(
  patches: readonly Copies[],
  { generated_tests: rates, test_correlation: correlation }: Likelihoods,
): Observations {
  const told = patches.map(([entry]) => entry?.observed ?? {});
  const names = [...new Set(told.flatMap((each) => Object.keys(each)))].sort();
  const [expected, split]: [TestColumn['outcomes'][], ObservedColumn['classes'][]] = [[], []];
  for (const name of names) {
    const outcomes = told.map((each) => each[name]?.expected ?? null);
    const classes = told.map((each) => each[name]?.group ?? null);
    if (outcomes.some((outcome) => outcome !== null)) expected.push(outcomes);
    else if (new Set(classes.filter((own) => own !== null)).size > 1) split.push(classes);
  }
  const count = expected.length + split.length;
  const common = { weight: 1 / (1 + (count - 1) * correlation), rates: rates['*'] ?? UNKNOWN_AUTHOR };
  const changing = told.map(changes);
  // A patch that changes nothing passes every input on which base is right, although the issue requires a change.
  const isTelling = changing.includes(true) && changing.includes(false);
  return {
    expected: [
      ...expected.map((outcomes) => ({ outcomes: withLost(patches, outcomes), ...common })),
      ...(isTelling ? [{ outcomes: withLost(patches, changing), ...common, weight: 1 }] : []),
    ],
    split: split.map((classes) => ({ classes, ...common })),
  };
}

/** Group of the results that equal those of base. */
const AS_BASE = 0;

/**
 * Whether a patch differs from base on any input. Null if it shows no value on any, or differs only where it shows nothing: a
 * patch that breaks everything does that, too.
 */
function changes(observed: NonNullable<Entry['observed']>): boolean | null {
  const shown = Object.values(observed);
  const others = shown.filter(({ group }) => group !== AS_BASE);
  if (others.length === 0) return shown.length === 0 ? null : false;
  const isBroken = shown.every((each) => each.no_value !== undefined);
  return isBroken || others.every((each) => each.no_value === 'nothing') ? null : true;
}
const UNKNOWN_AUTHOR: Rates = { right: [9, 1], wrong: [1, 2] };

/** Whether generated tests ran on it. */
function ran(entry: Entry | undefined): boolean {
  return (entry?.solved ?? null) !== null;
}
