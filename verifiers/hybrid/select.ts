import { BadInputError } from '../../src/core/errors/errors.js';
import type { RankedCandidate, Selection, StageTrace } from '../../src/core/run/selection.js';
import type { Entry } from './entry.js';
import { measure, poolOf, type Pool } from './pool.js';
import { compareBy, compareIds, type Compare } from './rank-key.js';
import { runStage } from './run-stage.js';
import { stageName, type Preset, type Stage, type StageMeasure } from './stage.js';

/**
 * The best of a pool by a preset's stages, with everything the decision rests on. Pure, and the order of `entries` does
 * not matter.
 * @param flags what a reader should know about a candidate, by id; changes nothing in the choice
 * @throws BadInputError when two candidates share an id
 */
export function selectBest(
  instanceId: string,
  entries: readonly Entry[],
  preset: Preset,
  flags: ReadonlyMap<string, readonly string[]>,
): Selection {
  refuseTwins(instanceId, entries);
  const pool = poolOf(instanceId, entries);
  const sorted = entries.toSorted(compareIds);
  const { ranking, stages, decidingStage, kept } = runStages(preset, pool, sorted);
  const winner = kept[0] ?? null;
  return {
    instance_id: instanceId,
    candidate_id: winner?.id ?? null,
    basis: winner === null ? 'none' : tookPart(pool, preset.stages, ranking) ? 'hybrid' : 'fallback',
    deciding_stage: winner === null ? null : decidingStage,
    confidence: winner === null ? null : confidenceIn(winner, preset.stages),
    ranking: ranking.map((entry, index) => ranked(pool, entry, index + 1, flags.get(entry.id) ?? [])),
    stages,
  };
}

/** What a selection comes to, without the evidence for it. */
export type Decision = Pick<Selection, 'candidate_id' | 'deciding_stage'>;

/** What `selectBest` decides; quicker, for nothing is worked out to be shown. @throws BadInputError as there */
export function decide(instanceId: string, entries: readonly Entry[], preset: Preset): Decision {
  refuseTwins(instanceId, entries);
  const { kept, decidingStage } = runStages(preset, poolOf(instanceId, entries), entries.toSorted(compareIds));
  const winner = kept[0] ?? null;
  return { candidate_id: winner?.id ?? null, deciding_stage: winner === null ? null : decidingStage };
}

interface Finished {
  /** One candidate, or none. */
  readonly kept: readonly Entry[];
  /** All candidates, best first: dropped later is better, then the dropping stage's own order. */
  readonly ranking: readonly Entry[];
  readonly stages: StageTrace[];
  readonly decidingStage: string | null;
}

function runStages(preset: Preset, pool: Pool, entries: readonly Entry[]): Finished {
  const stages: readonly Stage[] = [...preset.stages, { stage: 'lowest-id' }];
  const traces: StageTrace[] = [];
  let left = entries;
  let ranking: readonly Entry[] = [];
  let decidingStage: string | null = null;
  for (const [index, stage] of stages.entries()) {
    const wroteItself = index < preset.stages.length;
    if (left.length === 0 || (left.length === 1 && !wroteItself)) break;
    const order = orderFrom(stages.slice(index), pool, left);
    const { kept, skipped } = runStage(stage, pool, left, order);
    const dropped = left.filter((entry) => !kept.includes(entry)).toSorted(order);
    if (decidingStage === null && !onePatch(left) && onePatch(kept)) decidingStage = stageName(stage);
    traces.push({
      name: stageName(stage),
      kept: kept.map(({ id }) => id),
      dropped: dropped.map(({ id }) => id),
      skipped,
    });
    ranking = [...dropped, ...ranking];
    left = kept;
  }
  return { kept: left, ranking: [...left, ...ranking], stages: traces, decidingStage };
}

/** The order of the first stage, then of those after it; the lowest id settles the rest. */
function orderFrom(stages: readonly Stage[], pool: Pool, entries: readonly Entry[]): Compare {
  const compares = stages.map((stage) => compareBy(stage, pool, entries));
  return (a, b) => {
    for (const compare of compares) {
      const order = compare(a, b);
      if (order !== 0) return order;
    }
    return compareIds(a, b);
  };
}

/** One candidate, or several that all made the same change. */
function onePatch(entries: readonly Entry[]): boolean {
  const first = entries[0];
  if (first === undefined) return false;
  return (
    entries.length === 1 || entries.every((each) => each.fingerprint !== null && each.fingerprint === first.fingerprint)
  );
}

/** Whether a verdict was there for the stages to use, on the winner or on somebody it was compared with. */
function tookPart(pool: Pool, stages: readonly Stage[], ranking: readonly Entry[]): boolean {
  const compared = ranking.filter((entry) => entry.has_source_change && entry.applies !== false);
  return verdictsUsed(stages).some((by) => compared.some((entry) => measure(pool, entry, by) !== null));
}

/** Facts of the patch and of the pool, known without any verifier. */
const FACTS: ReadonlySet<string> = new Set(['patch_size', 'cluster_size', 'steps', 'confidence']);

function verdictsUsed(stages: readonly Stage[]): readonly StageMeasure[] {
  return stages
    .flatMap((stage) => {
      if (stage.stage === 'weighted') return stage.of.map(({ by }) => by);
      return 'by' in stage ? [stage.by] : [];
    })
    .filter((by) => !FACTS.has(by));
}

/** Only a preset that goes by the combiner can speak of its probability. */
function confidenceIn(winner: Entry, stages: readonly Stage[]): number | null {
  return verdictsUsed(stages).includes('learned') ? (winner.confidence ?? winner.learned ?? null) : null;
}

function ranked(pool: Pool, entry: Entry, rank: number, flags: readonly string[]): RankedCandidate {
  return {
    candidate_id: entry.id,
    rank,
    scores: {
      execution_free: entry.execution_free,
      regression: entry.regression,
      reproduction: entry.reproduction,
      ...entry.measures,
      patch_size: entry.patch_size,
      cluster_size: measure(pool, entry, 'cluster_size'),
      ...((entry.solved ?? null) !== null ? { posterior: measure(pool, entry, 'posterior') } : {}),
      ...(entry.learned === undefined ? {} : { learned: entry.learned }),
    },
    flags: [...flags],
  };
}

function refuseTwins(instanceId: string, entries: readonly Entry[]): void {
  const seen = new Set<string>();
  for (const { id } of entries) {
    if (seen.has(id)) {
      throw new BadInputError(`${instanceId} has two candidates "${id}".`, { field: 'candidate_id' });
    }
    seen.add(id);
  }
}
