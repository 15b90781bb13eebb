import { z } from 'zod';

/** The measures that every preset of a paper is written in; they keep these names on the wire. */
const WELL_KNOWN = ['execution_free', 'regression', 'reproduction'] as const;
export type WellKnownMeasure = (typeof WELL_KNOWN)[number];

const NAME = new RegExp(`^(${WELL_KNOWN.join('|')}|[a-z][a-z0-9_-]*:[!-~]+)$`);

/** A well-known name, or `family:rest`, e.g. `ef:agent@some-model`. The colon keeps a misspelt name from being taken for one. */
export const MeasureName = z
  .string()
  .max(200)
  .regex(NAME, `is none of ${WELL_KNOWN.join(', ')}, and not of the form family:name`);
export type MeasureName = z.infer<typeof MeasureName>;

/** What a verifier declares, once, of each measure that it gives. */
export const Measure = z.object({
  name: MeasureName,
  /** Who speaks: a model that judges, the repository's own tests, tests written for the issue, or a fact of the patch. */
  kind: z.enum(['judge', 'existing-tests', 'generated-tests', 'fact']),
  /** `probability`: 0..1; `count`: 0 to the verdict's `out_of`; `score`: any number from 0. */
  unit: z.enum(['probability', 'count', 'score']),
  better: z.enum(['higher', 'lower']),
  /** Heading of its column. */
  title: z.string(),
  /** What its number means, in one line for people. */
  meaning: z.string(),
});
export type Measure = z.infer<typeof Measure>;

export const EXECUTION_FREE: Measure = {
  name: 'execution_free',
  kind: 'judge',
  unit: 'probability',
  better: 'higher',
  title: 'Judge',
  meaning:
    'what the judge says without execution, 0 to 1: the probability that the patch is right, or is the better one',
};

export const REGRESSION: Measure = {
  name: 'regression',
  kind: 'existing-tests',
  unit: 'count',
  better: 'higher',
  title: 'Regression',
  meaning: "the repository's tests that still pass, of those that passed before",
};

export const REPRODUCTION: Measure = {
  name: 'reproduction',
  kind: 'generated-tests',
  unit: 'count',
  better: 'higher',
  title: 'Tests',
  meaning: 'generated tests that the patch solves, of those admitted',
};

const BUILT_IN = [EXECUTION_FREE, REGRESSION, REPRODUCTION] as const;

/** One more judge beside the one that `execution_free` stands for. @param name `ef:…`, with what tells it apart */
export function judgeMeasure(name: string, meaning: string = EXECUTION_FREE.meaning): Measure {
  return { ...EXECUTION_FREE, name: MeasureName.parse(name), title: name.replace(/^[^:]*:/, ''), meaning };
}

/** The record of a measure of which nothing but its name was kept, as in a score matrix. */
export function measureNamed(name: string, declared: readonly Measure[] = []): Measure {
  const known = [...declared, ...BUILT_IN].find((measure) => measure.name === name);
  if (known !== undefined) return known;
  if (/^(ef|execution_free):/.test(name)) return judgeMeasure(name);
  return { name, kind: 'fact', unit: 'score', better: 'higher', title: name, meaning: `the score ${name}` };
}

/** The columns of a run's scores: the well-known ones, then what else was declared. Several judges stand for the one. */
export function measuresShown(declared: readonly Measure[]): readonly Measure[] {
  const further = declared.filter(({ name }) => BUILT_IN.every((each) => each.name !== name));
  const named = further.some(({ kind }) => kind === 'judge');
  const judged = !named || declared.some(({ name }) => name === EXECUTION_FREE.name);
  return [...BUILT_IN.filter((measure) => judged || measure !== EXECUTION_FREE), ...further];
}

export const AbstainReason = z.enum([
  'no-source-change',
  'refused-patch',
  'does-not-apply',
  'no-tests',
  'unreadable-answer',
  'low-mass',
  'model-unavailable',
  'budget-spent',
  'prompt-too-long',
  'infrastructure',
  'forged',
  'control-solved',
]);
export type AbstainReason = z.infer<typeof AbstainReason>;

const Evidence = z.record(z.string(), z.json());

/**
 * One verifier's word on one candidate: a score in the measure's own unit (a probability 0..1, or a count from 0 to
 * `out_of`), or an abstention with its reason. Never NaN, never a
 * zero that stands for "could not judge".
 */
export const Verdict = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('scored'),
    candidate_id: z.string(),
    measure: MeasureName,
    score: z.number().min(0),
    out_of: z.number().positive(),
    evidence: Evidence,
  }),
  z.object({
    kind: z.literal('abstained'),
    candidate_id: z.string(),
    measure: MeasureName,
    reason: AbstainReason,
    detail: z.string(),
    evidence: Evidence,
  }),
]);
export type Verdict = z.infer<typeof Verdict>;

const ObservedValue = z.object({
  /** 0 = as base; then the most common first. */
  group: z.int().min(0),
  /** What it told, one JSON value a line, cut off. */
  value: z.string(),
  /** Whether that is right, by the test's author; absent where the author does not say. */
  expected: z.boolean().exactOptional(),
});

/** What tests that observe told of one candidate: evidence of the generated tests' measure, `observations`. */
export const Observations = z.object({
  /** Its behaviour class, from 1 (the most candidates), of how many. */
  class: z.int().positive(),
  classes: z.int().positive(),
  /** By test; tests that told nothing of it are not there. */
  values: z.record(z.string(), ObservedValue),
});
export type Observations = z.infer<typeof Observations>;

/** Null where no test that observes told anything of the candidate. */
export function observationsIn(verdicts: readonly Pick<Verdict, 'evidence'>[]): Observations | null {
  const found = verdicts.find(({ evidence }) => evidence.observations !== undefined);
  return Observations.safeParse(found?.evidence.observations).data ?? null;
}

/** Candidates that told the same in all tests that observe, and what they told in those that split the candidates. */
interface ToldClass {
  readonly class: number;
  readonly candidate_ids: readonly string[];
  readonly told: readonly { readonly test_id: string; readonly value: string; readonly as_base: boolean }[];
}

/** The classes, the largest first; none where nothing was observed. */
export function toldClasses(verdicts: readonly Verdict[]): readonly ToldClass[] {
  const seen = verdicts.flatMap((verdict) => {
    const own = verdict.measure === REPRODUCTION.name ? observationsIn([verdict]) : null;
    return own === null ? [] : [{ id: verdict.candidate_id, ...own }];
  });
  const groups = new Map<string, Set<number>>();
  for (const { values } of seen) {
    for (const [test, { group }] of Object.entries(values))
      groups.set(test, (groups.get(test) ?? new Set()).add(group));
  }
  const splits = (test: string): boolean => (groups.get(test)?.size ?? 0) > 1;
  const numbers = [...new Set(seen.map((each) => each.class))].sort((a, b) => a - b);
  return numbers.map((number) => {
    const own = seen.filter((each) => each.class === number);
    const told = Object.entries(own[0]?.values ?? {}).filter(([test]) => splits(test));
    return {
      class: number,
      candidate_ids: own.map(({ id }) => id),
      told: told.map(([test_id, { value, group }]) => ({ test_id, value, as_base: group === 0 })),
    };
  });
}
