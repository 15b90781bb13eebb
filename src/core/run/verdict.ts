import { z } from 'zod';

/** The measures used by the presets of papers; these names are fixed on the wire. */
const WELL_KNOWN = ['execution_free', 'regression', 'reproduction'] as const;
export type WellKnownMeasure = (typeof WELL_KNOWN)[number];

const NAME = new RegExp(`^(${WELL_KNOWN.join('|')}|[a-z][a-z0-9_-]*:[!-~]+)$`);

/**
 * A well-known name, or `family:rest`, e.g. `ef:agent@some-model`. The colon prevents a misspelt well-known name from
 * passing as a new one.
 */
export const MeasureName = z
  .string()
  .max(200)
  .regex(NAME, `is none of ${WELL_KNOWN.join(', ')}, and not of the form family:name`);
export type MeasureName = z.infer<typeof MeasureName>;

/** A verifier's declaration of one measure that it gives. */
export const Measure = z.object({
  name: MeasureName,
  /**
   * The source: a model that judges, the repository's own tests, tests written for the issue, or a fact about the
   * patch.
   */
  kind: z.enum(['judge', 'existing-tests', 'generated-tests', 'fact']),
  /** `probability`: 0..1; `count`: 0 to the verdict's `out_of`; `score`: any number from 0. */
  unit: z.enum(['probability', 'count', 'score']),
  better: z.enum(['higher', 'lower']),
  /** Its column heading. */
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
    'score of a judge without execution, 0 to 1: the probability that the patch is right, or is the better of two',
};

export const REGRESSION: Measure = {
  name: 'regression',
  kind: 'existing-tests',
  unit: 'count',
  better: 'higher',
  title: 'Regression',
  meaning: 'existing tests that still pass, out of those that passed before',
};

export const REPRODUCTION: Measure = {
  name: 'reproduction',
  kind: 'generated-tests',
  unit: 'count',
  better: 'higher',
  title: 'Tests',
  meaning: 'generated tests that the patch solves, out of those admitted',
};

const BUILT_IN = [EXECUTION_FREE, REGRESSION, REPRODUCTION] as const;

/** The measure of a judge other than that of `execution_free`. @param name `ef:…`, with what distinguishes it */
export function judgeMeasure(name: string, meaning: string = EXECUTION_FREE.meaning): Measure {
  return { ...EXECUTION_FREE, name: MeasureName.parse(name), title: name.replace(/^[^:]*:/, ''), meaning };
}

/** The declaration of a measure of which only the name was kept, as in a score matrix. */
export function measureNamed(name: string, declared: readonly Measure[] = []): Measure {
  const known = [...declared, ...BUILT_IN].find((measure) => measure.name === name);
  if (known !== undefined) return known;
  if (/^(ef|execution_free):/.test(name)) return judgeMeasure(name);
  return { name, kind: 'fact', unit: 'score', better: 'higher', title: name, meaning: `the score ${name}` };
}

/**
 * The columns of a run's scores: the well-known measures, then the other declared ones. Named judges replace the
 * undeclared `execution_free`.
 */
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
 * One verifier's verdict on one candidate: a score in the measure's unit (a probability 0..1, or a count from 0 to
 * `out_of`), or an abstention with its reason. Never NaN, and never zero for "could not judge".
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

/** What a test shows that shows no value: only that its code raises, or nothing, as when a limit ended it. */
export const NoValue = z.enum(['raises', 'nothing']);

const ObservedValue = z.object({
  /** 0 = as on base; then by descending frequency. */
  group: z.int().min(0),
  /** What it observed, one JSON value per line, truncated. */
  value: z.string(),
  /** Whether that is right, according to the test's author; absent if the author gave no expected value. */
  expected: z.boolean().exactOptional(),
  /** Absent if it observed a value. */
  no_value: NoValue.exactOptional(),
});

/** The patch that was executed for a candidate whose own patch git did not apply: `applied_as` in a verdict's evidence. */
export const AppliedForm = z.object({ patch: z.string(), repairs: z.array(z.string()) });
export type AppliedForm = z.infer<typeof AppliedForm>;

/** Null if the candidate's own patch was executed, or none. */
export function appliedFormIn(verdicts: readonly Pick<Verdict, 'evidence'>[]): AppliedForm | null {
  const found = verdicts.find(({ evidence }) => evidence.applied_as !== undefined);
  return AppliedForm.safeParse(found?.evidence.applied_as).data ?? null;
}

/** What observing tests recorded for one candidate: `observations` in the evidence of the generated tests' measure. */
export const Observations = z.object({
  /** Its behaviour class, numbered from 1 (the largest), and the number of classes. */
  class: z.int().positive(),
  classes: z.int().positive(),
  /** By test; tests whose sandbox was lost are absent. */
  values: z.record(z.string(), ObservedValue),
});
export type Observations = z.infer<typeof Observations>;

/** Null when no observing test recorded anything for the candidate. */
export function observationsIn(verdicts: readonly Pick<Verdict, 'evidence'>[]): Observations | null {
  const found = verdicts.find(({ evidence }) => evidence.observations !== undefined);
  return Observations.safeParse(found?.evidence.observations).data ?? null;
}

/** Candidates with equal observations in all observing tests, and the observations that split the candidates. */
interface ToldClass {
  readonly class: number;
  readonly candidate_ids: readonly string[];
  readonly told: readonly { readonly test_id: string; readonly value: string; readonly as_base: boolean }[];
}

/** The classes, largest first; empty when nothing was observed. */
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
