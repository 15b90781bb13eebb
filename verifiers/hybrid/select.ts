import { BadInputError } from '../../src/core/errors/errors.js';
import { type Preset, type Stage, type StageMeasure, stageName } from '../../src/core/run/preset.js';
import type { RankedCandidate, Selection, StageTrace } from '../../src/core/run/run-result.js';
import { onCurve } from './features.js';
import { type Entry, isEligible, patchOf, wasTested } from './entry.js';
import { type Knowledge, NOTHING_LEARNED, Pool, type PoolInput } from './pool.js';
import { type Compare, compareBy, compareIds, runStage } from './stages.js';

/** How the best candidate of a pool is selected. */
export interface Rule extends Knowledge {
  readonly preset: Preset;
  /** Return no patch if the confidence is below this, 0..1; null = always return one. */
  readonly minConfidence: number | null;
}

/** A rule with a preset and nothing learned. */
export function ruleOf(preset: Preset): Rule {
  return { preset, minConfidence: null, ...NOTHING_LEARNED };
}

/** The outcome of a selection, without the evidence for it. */
export type Decision = Pick<Selection, 'candidate_id' | 'deciding_stage'>;

/**
 * Selects the best candidate of a pool by a rule, with all the evidence for the decision. Pure; independent of entry order.
 * @param flags notes for the reader on each candidate, by id; they do not affect the choice
 * @throws BadInputError when two candidates share an id
 */
export function selectBest(
  input: PoolInput,
  rule: Rule,
  flags: ReadonlyMap<string, readonly string[]> = new Map(),
): Selection {
  const run = new SelectionRun(input, rule, true);
  const { pool, ranking, stages, candidate } = run;
  const hasVerdict = tookPart(pool, rule.preset.stages, ranking);
  return {
    instance_id: input.instanceId,
    candidate_id: candidate?.id ?? null,
    basis: candidate === null ? 'none' : hasVerdict ? 'hybrid' : 'fallback',
    deciding_stage: run.decidingStage,
    confidence: run.best === null ? null : run.confidence(),
    why_none: run.whyNone(),
    notes: notesOn(pool),
    ranking: ranking.map((entry, index) => ranked(pool, entry, index + 1, flags.get(entry.id) ?? [])),
    stages,
  };
}

/** The decision of `selectBest`, faster because no evidence is computed for display. @throws BadInputError as `selectBest` */
export function decide(input: PoolInput, rule: Rule): Decision {
  const { candidate_id, deciding_stage } = decideWithConfidence(input, rule);
  return { candidate_id, deciding_stage };
}

/** `decide`, with the confidence of `selectBest`, computed on demand. @throws BadInputError as `selectBest` */
export function decideWithConfidence(
  input: PoolInput,
  rule: Rule,
): Decision & { readonly confidence: () => number | null } {
  const run = new SelectionRun(input, rule, false);
  return {
    candidate_id: run.candidate?.id ?? null,
    deciding_stage: run.decidingStage,
    confidence: () => (run.best === null ? null : run.confidence()),
  };
}

/** One pass of a pool through the stages of a rule. */
class SelectionRun {
  readonly pool: Pool;
  /** Best first: those dropped later rank higher, then by the order of the dropping stage. Without `ranks`, only those left. */
  readonly ranking: readonly Entry[];
  readonly stages: StageTrace[] = [];
  /** The first candidate left after all stages; null if none is left. */
  readonly best: Entry | null;
  /** The candidate returned: `best`, unless its confidence is too low. */
  readonly candidate: Entry | null;
  /** Name of the stage that reduced the pool to one patch. */
  private deciding: string | null = null;

  constructor(
    input: PoolInput,
    private readonly rule: Rule,
    ranks: boolean,
  ) {
    refuseTwins(input);
    this.pool = new Pool(input, rule);
    const own = rule.preset.stages;
    const stages: readonly Stage[] = [...own, { stage: 'lowest-id' }];
    let left: readonly Entry[] = this.pool.entries.toSorted(compareIds);
    let ranking: readonly Entry[] = [];
    for (const [index, stage] of stages.entries()) {
      if (left.length === 0 || (left.length === 1 && index === own.length)) break;
      const order = orderFrom(stages.slice(index), this.pool);
      const { kept, skipped } = runStage(stage, this.pool, left, order);
      const dropped = ranks ? left.filter((entry) => !kept.includes(entry)).toSorted(order) : [];
      if (!onePatch(left) && onePatch(kept)) this.deciding = stageName(stage);
      this.stages.push({ name: stageName(stage), kept: idsOf(kept), dropped: idsOf(dropped), skipped });
      ranking = [...dropped, ...ranking];
      left = kept;
    }
    this.ranking = [...left, ...ranking];
    this.best = left[0] ?? null;
    this.candidate = this.isTooUnsure() ? null : this.best;
  }

  get decidingStage(): string | null {
    return this.candidate === null ? null : this.deciding;
  }

  /** The combiner's confidence if the preset uses the combiner, otherwise the posterior's. */
  confidence(): number {
    if (this.best === null) return 0;
    const { preset, calibration } = this.rule;
    const learned = this.pool.learned(this.best.id);
    if (measuresUsed(preset.stages).includes('learned') && (learned.learned ?? null) !== null) {
      return learned.confidence ?? learned.learned ?? 0;
    }
    const p = this.pool.right(this.best.id);
    return calibration === null ? p : onCurve(calibration.returned, p);
  }

  whyNone(): string | null {
    if (this.candidate !== null) return null;
    if (this.ranking.length === 0) return 'there is no candidate';
    if (!this.ranking.some(isEligible)) return 'no candidate changes source files and applies';
    if (this.best === null) return `no candidate passes "${this.stages.at(-1)?.name ?? ''}"`;
    const wanted = this.rule.minConfidence ?? 0;
    return `the best candidate, ${this.best.id}, has P(right) ${this.confidence().toFixed(3)}, below ${wanted}`;
  }

  private isTooUnsure(): boolean {
    const { minConfidence } = this.rule;
    return minConfidence !== null && this.best !== null && this.confidence() < minConfidence;
  }
}

function idsOf(entries: readonly Entry[]): string[] {
  return entries.map(({ id }) => id);
}

/** Orders by the first stage, then by the stages after it; ties go to the lowest id. */
function orderFrom(stages: readonly Stage[], pool: Pool): Compare {
  const compares = stages.map((stage) => compareBy(stage, pool));
  return (a, b) => {
    for (const compare of compares) {
      const order = compare(a, b);
      if (order !== 0) return order;
    }
    return compareIds(a, b);
  };
}

/** True for one candidate, or several with the same patch. */
function onePatch(entries: readonly Entry[]): boolean {
  const [first, ...others] = entries;
  if (first === undefined) return false;
  const patch = patchOf(first);
  return others.every((entry) => patchOf(entry) === patch);
}

/** Whether the stages could use a verdict on any eligible candidate. */
function tookPart(pool: Pool, stages: readonly Stage[], ranking: readonly Entry[]): boolean {
  const compared = ranking.filter(isEligible);
  return measuresUsed(stages).some((by) =>
    by === 'p_right'
      ? compared.some(({ id }) => verdictsIn(pool, id).length > 0)
      : !FACTS.has(by) && compared.some((entry) => pool.measure(entry, by) !== null),
  );
}

/** Sources of the posterior that come from a verifier. */
function verdictsIn(pool: Pool, id: string): readonly string[] {
  const sources = Object.keys(pool.beliefs().logOdds.get(id) ?? {});
  return sources.filter((source) => !['prior', 'votes', 'submitted'].includes(source));
}

/** Whether the stages compare candidates by what a verifier measures, and not only by the patch or the pool. */
export function needsVerdicts(stages: readonly Stage[]): boolean {
  return measuresUsed(stages).some((by) => !FACTS.has(by));
}

/** Measures of the patch and of the pool, known without a verifier. */
const FACTS: ReadonlySet<string> = new Set([
  'patch_size',
  'steps',
  'cluster_size',
  'syntax_cluster_size',
  'behaviour_cluster_size',
  'confidence',
]);

function measuresUsed(stages: readonly Stage[]): readonly StageMeasure[] {
  return stages.flatMap((stage) => {
    if (stage.stage === 'weighted') return stage.of.map(({ by }) => by);
    return 'by' in stage ? [stage.by] : [];
  });
}

/** Largest spread of a probability at which Markov chains count as agreeing. */
const AGREED = 0.1;

function notesOn(pool: Pool): string[] {
  const { method, spread } = pool.beliefs();
  const notes = [];
  if (method === 'sampled' && spread > AGREED) {
    notes.push(`P(right) was sampled, and its Markov chains differ by up to ${spread.toFixed(2)}`);
  }
  const eligible = pool.entries.filter(isEligible);
  const judge = favourites(eligible, ({ execution_free }) => execution_free);
  const tests = favourites(eligible, (entry) => pool.measure(entry, 'posterior'));
  if (judge.size > 0 && tests.size > 0 && [...judge].every((patch) => !tests.has(patch))) {
    notes.push('judge and tests prefer different patches');
  }
  return notes;
}

/** The patches with the best known value. */
function favourites(entries: readonly Entry[], value: (entry: Entry) => number | null): ReadonlySet<string> {
  const best = entries.reduce((most, entry) => Math.max(most, value(entry) ?? -Infinity), -Infinity);
  return new Set(best === -Infinity ? [] : entries.filter((entry) => value(entry) === best).map(patchOf));
}

function ranked(pool: Pool, entry: Entry, rank: number, flags: readonly string[]): RankedCandidate {
  const learned = pool.learned(entry.id).learned ?? null;
  const { right, logOdds } = pool.beliefs();
  return {
    candidate_id: entry.id,
    rank,
    scores: {
      execution_free: entry.execution_free,
      regression: entry.regression,
      reproduction: entry.reproduction,
      ...entry.measures,
      patch_size: entry.patch_size,
      cluster_size: pool.measure(entry, 'cluster_size'),
      ...(!wasTested(entry) ? {} : { posterior: pool.measure(entry, 'posterior') }),
      ...(learned === null ? {} : { learned }),
    },
    p_right: right.get(entry.id) ?? null,
    log_odds: { ...logOdds.get(entry.id) },
    flags: [...flags],
  };
}

function refuseTwins({ instanceId, entries }: PoolInput): void {
  const seen = new Set<string>();
  for (const { id } of entries) {
    if (seen.has(id)) {
      throw new BadInputError(`${instanceId} has two candidates "${id}".`, { field: 'candidate_id' });
    }
    seen.add(id);
  }
}
