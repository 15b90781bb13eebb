import { z } from 'zod';
import { grouped } from '../../src/core/grouped.js';
import { MeasureName } from '../../src/core/run/verdict.js';

/**
 * A candidate as the hybrid's stages see it: scores and plain facts, no patch text and no label. `null` = abstained or
 * unknown, which is not the same as zero and no worse than a known value.
 */
export const Entry = z.object({
  id: z.string(),
  /** P(right) by the execution-free verifier, 0..1; of several judges their mean. */
  execution_free: z.number().nullable(),
  /** Stable base passes that still pass, a count. */
  regression: z.number().nullable(),
  /** Admitted generated tests solved, a count. */
  reproduction: z.number().nullable(),
  /** Added plus removed lines of the patch; null when unknown. */
  patch_size: z.number().nullable(),
  /** Equal for candidates whose normalised source patches are equal; null when unknown. */
  fingerprint: z.string().nullable(),
  /** Equal for candidates whose source changes have the same syntax trees; null when unknown. */
  syntax: z.string().nullish(),
  /** False when the patch changes no source file. */
  has_source_change: z.boolean(),
  /**
   * False when the patch does not apply at base, was refused, forged what it was scored by, or may have while others did not;
   * null when nobody tried.
   */
  applies: z.boolean().nullable(),
  /** False when the agent hit a limit instead of submitting; null when unknown. */
  finished: z.boolean().nullable(),
  /** What `regression` counts up to; the presets that add rates need it. */
  regression_out_of: z.number().positive().nullish(),
  /** What `reproduction` counts up to. */
  reproduction_out_of: z.number().positive().nullish(),
  /** Measures that are unknown because every sandbox was lost under this patch, which may have caused that. */
  lost: z.array(MeasureName).optional(),
  /** Further measures by name, in their own unit: other judges, a verifier of one's own. */
  measures: z.record(MeasureName, z.number().nullable()).optional(),
  /** Whether its agent was told of other candidates: that it made the same change as one of them says nothing. */
  told: z.boolean().optional(),
  /** Which of several agents made it: what they have in common they get wrong together. Absent = there is one, or nobody knows. */
  agent: z.string().optional(),
  /** Steps of the agent's trajectory. */
  steps: z.number().nullish(),
  /** Equal for candidates that behave the same: that solved exactly the same tests, or showed equal observations. */
  behaviour: z.string().nullish(),
  /** Ids of the admitted generated tests that it solved; null when none were run. */
  solved: z.array(z.string()).nullish(),
  /** Ids of those that spoke against it; null = all that it did not solve. A test in neither list said nothing. */
  failed: z.array(z.string()).nullish(),
  /**
   * By test that observes, the group of patches that told the same (0 = as base), and whether that is right, where its author said.
   * A test that is not there told nothing.
   */
  observed: z.record(z.string(), z.object({ group: z.int().min(0), expected: z.boolean().exactOptional() })).nullish(),
  /** Ids of the candidates that it beat in pairs, in both orders; null when none were compared. */
  beats: z.array(z.string()).nullish(),
  /** P(right) by a learned combiner, 0..1. */
  learned: z.number().min(0).max(1).nullish(),
  /** P(right) if this is the candidate that is returned, by the same combiner. */
  confidence: z.number().min(0).max(1).nullish(),
});
export type Entry = z.infer<typeof Entry>;

/** Whether a candidate could be returned at all: it changes source, and nothing says that it does not apply. */
export function isEligible({ has_source_change, applies }: Entry): boolean {
  return has_source_change && applies !== false;
}

/** Whether tests written for the issue told anything of it. */
export function wasTested({ solved, observed }: Entry): boolean {
  return (solved ?? null) !== null || (observed ?? null) !== null;
}

/** Equal for candidates that are one patch. */
export function patchOf({ id, fingerprint }: Entry): string {
  return fingerprint === null ? `id ${id}` : `patch ${fingerprint}`;
}

/**
 * Equal patches are one patch: what verifiers said of any of them holds for all, and of several judgements the mean.
 * What the trajectory says (steps, how it ended) and the size of the whole patch stay each candidate's own.
 */
export function withEqualPatches(entries: readonly Entry[]): readonly Entry[] {
  const known = equalised.get(entries);
  if (known !== undefined) return known;
  const made = equalisedOf(entries);
  // Doing it again changes nothing.
  equalised.set(entries, made).set(made, made);
  return made;
}

/** By list: a pool is made of the same one for each rule that it is decided by. */
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

/** In an order of their own, so that sums come out the same whatever the order of the candidates. */
function commonOf(given: readonly Entry[]): Partial<Entry> {
  const own = given.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const mean = (key: 'execution_free' | 'regression' | 'reproduction'): number | null =>
    meanOf(own.map((entry) => entry[key]));
  const first = <Key extends keyof Entry>(key: Key): Entry[Key] =>
    (own.find((entry) => (entry[key] ?? null) !== null) ?? own[0])?.[key] as Entry[Key];
  const names = new Set(own.flatMap(({ measures }) => Object.keys(measures ?? {})));
  return {
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

/** Of the known ones, of equal ones exactly their value; null when none is. */
export function meanOf(values: readonly (number | null)[]): number | null {
  const [first, ...others] = values.filter((value) => value !== null);
  if (first === undefined) return null;
  return first + others.reduce((sum, value) => sum + (value - first), 0) / (others.length + 1);
}
