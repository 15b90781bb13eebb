import type { Stage, TopCount } from '../../core/run/preset.js';
import { type Among, fixedValues, type IssueColumns, type StepValues } from './issue-columns.js';

/** One stage of a preset over the numbers of one issue. */
export type Step =
  | { readonly op: 'best'; readonly values: StepValues; readonly within: number; readonly mayEmpty: boolean }
  | { readonly op: 'top'; readonly values: StepValues; readonly n: TopCount }
  | { readonly op: 'above'; readonly values: StepValues; readonly than: number; readonly mayEmpty: boolean };

/**
 * A preset's stages over one issue's candidates, without those that cannot tell any two of them apart. `random` and
 * `lowest-id` end the list: what is tied there is averaged.
 */
export function stepsOf(columns: IssueColumns, stages: readonly Stage[]): readonly Step[] {
  const steps: Step[] = [];
  const mayCut = ordersAndFiltersDiffer(stages);
  const conditions = new Set<string>();
  for (const stage of stages) {
    if (stage.stage === 'random' || stage.stage === 'lowest-id') break;
    if (stage.stage === 'keep') conditions.add(stage.where);
    const among = conditions.has('has-source-change') && conditions.has('applies') ? 'eligible' : 'all';
    const step = stepOf(stage, columns, among);
    if ((step.op === 'top' && mayCut) || !isIdle(step)) steps.push(step);
  }
  return steps;
}

type DecidingStage = Exclude<Stage, { stage: 'random' | 'lowest-id' }>;

function stepOf(stage: DecidingStage, columns: IssueColumns, among: Among): Step {
  switch (stage.stage) {
    case 'keep': {
      const values = columns.flags(stage.where);
      return { op: 'best', values, within: 0, mayEmpty: stage.where !== 'finished' };
    }
    case 'above': {
      const values = columns.measured(stage.by, 1, among);
      const mayEmpty = stage.otherwise === 'none';
      if (values.kind !== 'fixed') return { op: 'above', values, than: stage.than, mayEmpty };
      const flags = fixedValues(values.values.map((value) => (value > stage.than ? 1 : 0)));
      return { op: 'best', values: flags, within: 0, mayEmpty };
    }
    case 'top':
      return { op: 'top', values: columns.measured(stage.by, 1, among), n: stage.n };
    case 'max':
      return { op: 'best', values: columns.measured(stage.by, 1, among), within: stage.within, mayEmpty: false };
    case 'min':
      return { op: 'best', values: columns.measured(stage.by, -1, among), within: stage.within, mayEmpty: false };
    case 'weighted':
      return { op: 'best', values: columns.summed(stage.of, among), within: stage.within, mayEmpty: false };
  }
}

/**
 * A `top` that cannot tell anybody apart cuts by the order of the stages after it. That changes nothing as long as each
 * of those keeps the best of its own order, which a second `top` and a tolerance do not.
 */
function ordersAndFiltersDiffer(stages: readonly Stage[]): boolean {
  const tops = stages.filter(({ stage }) => stage === 'top').length;
  return tops > 1 || stages.some((stage) => 'within' in stage && stage.within > 0);
}

/** Nobody is told apart, and nobody fails a filter that may leave none. */
function isIdle(step: Step): boolean {
  if (step.values.kind !== 'fixed' || !step.values.constant) return false;
  return step.op === 'top' || !step.mayEmpty || step.values.values[0] !== 0;
}
