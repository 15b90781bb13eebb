import { z } from 'zod';
import { grouped } from '../../src/core/grouped.js';
import { MeasureName, NoValue } from '../../src/core/run/verdict.js';

/**
 * A candidate as the hybrid stages see it: scores and plain facts, without patch text or label. `null` = abstained or unknown,
 * which is not zero and never counts as worse than a known value.
 */
export const Entry = z.object({
  id: z.string(),
  /** P(right) by the execution-free verifier, 0..1; the mean if there are several judges. */
  execution_free: z.number().nullable(),
  /** Number of stable base passes that still pass. */
  regression: z.number().nullable(),
  /** Number of admitted generated tests solved. */
  reproduction: z.number().nullable(),
  /** Added plus removed lines of the patch; null when unknown. */
  patch_size: z.number().nullable(),
  /** Equal for candidates whose normalised source patches are equal; null when unknown. */
  fingerprint: z.string().nullable(),
  /** Equal for candidates that change the same lines, whatever context their diffs show; null = as the fingerprint. */
  change: z.string().nullish(),
  /** Equal for candidates whose source changes have the same syntax trees; null when unknown. */
  syntax: z.string().nullish(),
  /** False when the patch changes no source file. */
  has_source_change: z.boolean(),
  /**
   * False when the patch does not apply at base, was refused, forged the results it was scored by, or may have forged them
   * while others did not; null when nothing tried to apply it.
   */
  applies: z.boolean().nullable(),
  /** False when the agent hit a limit instead of submitting; null when unknown. */
  finished: z.boolean().nullable(),
  /** Maximum of `regression`; required by the presets that add rates. */
  regression_out_of: z.number().positive().nullish(),
  /** Maximum of `reproduction`. */
  reproduction_out_of: z.number().positive().nullish(),
  /** Measures that are unknown for a reason that the patch may have caused: every sandbox was lost, or it is too long for the judge. */
  lost: z.array(MeasureName).optional(),
  /** Further measures by name, in their own unit: other judges, a verifier of one's own. */
  measures: z.record(MeasureName, z.number().nullable()).optional(),
  /** True if its agent saw other candidates: agreement with them is then no evidence. */
  told: z.boolean().optional(),
  /** Which of several agents made it; rollouts of one agent share mistakes. Absent = a single agent, or unknown. */
  agent: z.string().optional(),
  /** Steps of the agent's trajectory. */
  steps: z.number().nullish(),
  /** Equal for candidates that behave the same: they solved exactly the same tests, or gave equal observations. */
  behaviour: z.string().nullish(),
  /** Ids of the admitted generated tests it solved; null when none were run. */
  solved: z.array(z.string()).nullish(),
  /** Ids of the tests that count against it; null = all that it did not solve. A test in neither list is no evidence. */
  failed: z.array(z.string()).nullish(),
  /**
   * Per observing test: the group of patches with the same observation (0 = same as base), whether that observation is right,
   * if the test's author stated it, and what it shows if it shows no value. A missing test was lost with its sandbox.
   */
  observed: z
    .record(
      z.string(),
      z.object({
        group: z.int().min(0),
        expected: z.boolean().exactOptional(),
        no_value: NoValue.exactOptional(),
      }),
    )
    .nullish(),
  /** Ids of the candidates it beat in pairwise comparison, in both orders; null when none were compared. */
  beats: z.array(z.string()).nullish(),
  /** P(right) by a learned combiner, 0..1. */
  learned: z.number().min(0).max(1).nullish(),
  /** P(right) given that this candidate is the one returned, by the same combiner. */
  confidence: z.number().min(0).max(1).nullish(),
});
export type Entry = z.infer<typeof Entry>;

/** An entry of whose verdicts and patch nothing is known. */
export const UNKNOWN: Omit<Entry, 'id' | 'has_source_change'> = {
  execution_free: null,
  regression: null,
  reproduction: null,
  patch_size: null,
  fingerprint: null,
  applies: null,
  finished: null,
};

/** Whether a candidate can be returned: it changes source, and is not known to fail to apply. */
export function isEligible({ has_source_change, applies }: Entry): boolean {
  return has_source_change && applies !== false;
}

/** Whether any generated test yielded a result for it. */
export function wasTested({ solved, observed }: Entry): boolean {
  return (solved ?? null) !== null || (observed ?? null) !== null;
}

/** Key of the patch: equal for candidates with the same patch. */
export function patchOf({ id, fingerprint }: Entry): string {
  return fingerprint === null ? `id ${id}` : `patch ${fingerprint}`;
}

/** Key of the changed lines, equal for candidates that agree on them; null when unknown. */
export function changeOf({ change, fingerprint }: Pick<Entry, 'change' | 'fingerprint'>): string | null {
  return change ?? fingerprint;
}

/** Key of what a candidate votes for: the syntax that it leaves, else its changed lines. */
export function voteOf(entry: Entry): string {
  return entry.syntax ?? changeOf(entry) ?? `id ${entry.id}`;
}

/**
 * Equalises the verdicts of candidates with the same patch: a verdict on one holds for all, and several scores are averaged.
 * Trajectory facts (steps, how it ended) and the size of the whole patch stay per candidate.
 */
export function withEqualPatches(entries: readonly Entry[]): readonly Entry[] {
  const known = equalised.get(entries);
  if (known !== undefined) return known;
  const made = equalisedOf(entries);
  // The result is cached under itself too, since equalising it again changes nothing.
  equalised.set(entries, made).set(made, made);
  return made;
}

/** Keyed by list: pools for several rules are built from the same list. */
const equalised = new WeakMap<readonly Entry[], readonly Entry[]>();

function equalisedOf(entries: readonly Entry[]): readonly Entry[] {
  const groups = grouped(entries, patchOf);
  if (groups.size === entries.length) return entries;
  const common = new Map<string, Partial<Entry>>();
  for (const [patch, own] of groups) if (own.length > 1) common.set(patch, commonOf(own));
  return entries.map((entry) => {
    const shared = common.get(patchOf(entry));
    return shared === undefined ? entry : { ...entry, ...shared };
  });
}

/** Sorted by id, so that sums are identical whatever the order of the candidates. */
function commonOf(given: readonly Entry[]): Partial<Entry> {
  const own = given.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const mean = (key: 'execution_free' | 'regression' | 'reproduction'): number | null =>
    meanOf(own.map((entry) => entry[key]));
  const first = <Key extends keyof Entry>(key: Key): Entry[Key] =>
    (own.find((entry) => (entry[key] ?? null) !== null) ?? own[0])?.[key] as Entry[Key];
  const names = new Set(own.flatMap(({ measures }) => Object.keys(measures ?? {})));
  const lost = new Set(own.flatMap((entry) => entry.lost ?? []));
  return {
    ...(lost.size === 0 ? {} : { lost: [...lost] }),
    execution_free: mean('execution_free'),
    regression: mean('regression'),
    reproduction: mean('reproduction'),
    regression_out_of: first('regression_out_of'),
    reproduction_out_of: first('reproduction_out_of'),
    ...(names.size === 0
      ? {}
      : {
          measures: Object.fromEntries(
            [...names].map((name) => [name, meanOf(own.map(({ measures }) => measures?.[name] ?? null))]),
          ),
        }),
    syntax: first('syntax'),
    behaviour: first('behaviour'),
    solved: first('solved'),
    failed: first('failed'),
    observed: first('observed'),
    beats: own.some(({ beats }) => (beats ?? null) !== null)
      ? [...new Set(own.flatMap(({ beats }) => beats ?? []))]
      : null,
  };
}

/** Mean of the known values, exactly their value if all are equal; null when none is known. */
export function meanOf(values: readonly (number | null)[]): number | null {
  const [first, ...others] = values.filter((value) => value !== null);
  if (first === undefined) return null;
  return first + others.reduce((sum, value) => sum + (value - first), 0) / (others.length + 1);
}
