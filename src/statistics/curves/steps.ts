import type { Entry } from '../../../verifiers/hybrid/entry.js';
import { posteriorOf } from '../../../verifiers/hybrid/pool.js';
import type { Stage, TopCount } from '../../../verifiers/hybrid/stage.js';
import type { IssueColumns } from './issue-columns.js';
import { fixedValues, type PoolScorer, type StepValues, type SubsetScorer } from './step-values.js';

/** One stage of a preset over the numbers of one issue. */
export type Step =
  | { readonly op: 'best'; readonly values: StepValues; readonly within: number; readonly mayEmpty: boolean }
  | { readonly op: 'top'; readonly values: StepValues; readonly n: TopCount }
  | { readonly op: 'above'; readonly values: StepValues; readonly than: number; readonly mayEmpty: boolean };

/**
 * A preset's stages over one issue's candidates, without those that cannot tell any two of them apart. `random` and
 * `lowest-id` end the list: what is tied there is averaged.
 */
export function stepsOf(columns: IssueColumns, stages: readonly Stage[], learned?: PoolScorer): readonly Step[] {
  const steps: Step[] = [];
  const mayCut = ordersAndFiltersDiffer(stages);
  for (const stage of stages) {
    if (stage.stage === 'random' || stage.stage === 'lowest-id') break;
    const step = stepOf(stage, columns, learned);
    if ((step.op === 'top' && mayCut) || !isIdle(step)) steps.push(step);
  }
  return steps;
}

type DecidingStage = Exclude<Stage, { stage: 'random' | 'lowest-id' }>;

function stepOf(stage: DecidingStage, columns: IssueColumns, learned: PoolScorer | undefined): Step {
  const measured = (sign: 1 | -1): StepValues => {
    const by = 'by' in stage ? stage.by : 'execution_free';
    const isLearned = by === 'learned' || by === 'confidence';
    if (by === 'posterior' && sign === 1 && columns.entries.some(({ solved }) => (solved ?? null) !== null)) {
      return { kind: 'scored', score: posteriorScorer(columns.entries) };
    }
    if (learned !== undefined && isLearned) return { kind: 'scored', score: learned(columns.entries, by) };
    return columns.measured(by, sign);
  };
  switch (stage.stage) {
    case 'keep': {
      const values = columns.flags(stage.where);
      return { op: 'best', values, within: 0, mayEmpty: stage.where !== 'finished' };
    }
    case 'above': {
      const values = measured(1);
      const mayEmpty = stage.otherwise === 'none';
      if (values.kind !== 'fixed') return { op: 'above', values, than: stage.than, mayEmpty };
      const flags = fixedValues(values.values.map((value) => (value > stage.than ? 1 : 0)));
      return { op: 'best', values: flags, within: 0, mayEmpty };
    }
    case 'top':
      return { op: 'top', values: measured(1), n: stage.n };
    case 'max':
      return { op: 'best', values: measured(1), within: 0, mayEmpty: false };
    case 'min':
      return { op: 'best', values: measured(-1), within: 0, mayEmpty: false };
    case 'weighted':
      return { op: 'best', values: columns.summed(stage.of), within: stage.within, mayEmpty: false };
  }
}

/**
 * A `top` that cannot tell anybody apart cuts by the order of the stages after it. That changes nothing as long as each
 * of those keeps the best of its own order, which a second `top` and a tolerance do not.
 */
function ordersAndFiltersDiffer(stages: readonly Stage[]): boolean {
  let tops = 0;
  for (const stage of stages) {
    if (stage.stage === 'weighted' && stage.within > 0) return true;
    if (stage.stage === 'top') tops += 1;
  }
  return tops > 1;
}

/** Nobody is told apart, and nobody fails a filter that may leave none. */
function isIdle(step: Step): boolean {
  if (step.values.kind !== 'fixed' || !step.values.constant) return false;
  return step.op === 'top' || !step.mayEmpty || step.values.values[0] !== 0;
}

/** The latent model over each subset alone: what others would have shown of the tests is not known in it. */
export function posteriorScorer(entries: readonly Entry[]): SubsetScorer {
  return (drawn, k, scores) => {
    const subset = Array.from(drawn.subarray(0, k));
    const { right } = posteriorOf(subset.flatMap((index) => entries[index] ?? []));
    for (const index of subset) scores[index] = right.get(entries[index]?.id ?? '') ?? -Infinity;
  };
}
