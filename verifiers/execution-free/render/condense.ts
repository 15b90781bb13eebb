import type { TrajectoryStep } from '../../../src/core/run/candidate.js';

/** Steps at the end that are touched last: the final edits and test runs. */
const LAST_STEPS = 3;
const KEPT_OBSERVATION = 900;
const KEPT_ACTION = 600;
const KEPT_LAST_FIELD = 3000;
/** One field of the last steps must not crowd out all the others. */
const LAST_FIELD_SHARE = 1 / 12;
/** Tags and line ends around one step. */
export const STEP_OVERHEAD = 94;

export interface Condensed {
  readonly steps: readonly TrajectoryStep[];
  /** Oldest steps left out altogether. */
  readonly dropped: number;
  readonly condensed: boolean;
}

interface Cut {
  readonly step: number;
  readonly field: keyof TrajectoryStep;
  readonly keep: number;
}

/**
 * Makes the steps fit into `budget` characters, or as small as it goes: boundless fields of the last steps, then long
 * observations from the middle outwards, then thoughts and actions from the oldest on, then whole steps from the oldest
 * on, then the last steps' fields again.
 * Depends on the steps and the budget alone.
 */
export function condense(steps: readonly TrajectoryStep[], budget: number): Condensed {
  const kept = steps.map((step) => ({ ...step }));
  let size = kept.reduce((sum, step) => sum + sizeOf(step), 0);
  const apply = (cuts: readonly Cut[]): void => {
    for (const { step, field, keep } of cuts) {
      const target = kept[step];
      if (size <= budget || target === undefined) return;
      const short = excerpt(target[field], keep);
      size -= target[field].length - short.length;
      target[field] = short;
    }
  };
  const fits = size <= budget;
  const early = Math.max(0, steps.length - LAST_STEPS);
  apply(lastCuts(early, steps.length, Math.max(2 * KEPT_LAST_FIELD, Math.floor(budget * LAST_FIELD_SHARE))));
  apply(earlyCuts(early));
  let dropped = 0;
  for (; size > budget && dropped < early; dropped += 1) size -= sizeOf(kept[dropped]);
  apply(lastCuts(early, steps.length, KEPT_LAST_FIELD));
  return { steps: kept.slice(dropped), dropped, condensed: !fits };
}

function earlyCuts(early: number): readonly Cut[] {
  const oldestFirst = Array.from({ length: early }, (_, step) => step);
  const middle = (early - 1) / 2;
  const middleFirst = oldestFirst.toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle) || a - b);
  return [
    ...middleFirst.map((step) => ({ step, field: 'observation', keep: KEPT_OBSERVATION }) as const),
    ...oldestFirst.map((step) => ({ step, field: 'thought', keep: 0 }) as const),
    ...oldestFirst.map((step) => ({ step, field: 'action', keep: KEPT_ACTION }) as const),
  ];
}

function lastCuts(from: number, to: number, keep: number): readonly Cut[] {
  const steps = Array.from({ length: to - from }, (_, index) => from + index);
  return (['observation', 'thought', 'action'] as const).flatMap((field) =>
    steps.map((step) => ({ step, field, keep })),
  );
}

function sizeOf(step: TrajectoryStep | undefined): number {
  if (step === undefined) return 0;
  return step.thought.length + step.action.length + step.observation.length + STEP_OVERHEAD;
}

/**
 * Head and tail of a text with a note of what was cut between them; the text itself when that would save less than a note
 * takes. What a note in the cut part says was cut before is counted in.
 * @param keep characters to keep in all, a third of them at the head: how a run ended matters most
 */
export function excerpt(text: string, keep: number): string {
  const head = wholeCharacters(text.slice(0, Math.floor(keep / 3)));
  const tailLength = keep - Math.floor(keep / 3);
  const tail = tailLength === 0 ? '' : wholeCharacters(text.slice(-tailLength));
  const left = text.slice(head.length, text.length - tail.length);
  const before = [...left.matchAll(NOTE)].map(([note, count]) => Number(count) - note.length);
  const cut = before.reduce((sum, count) => sum + count, left.length);
  const note = `[... ${cut} characters cut ...]`;
  const short = [head, note, tail].filter((part) => part !== '').join('\n');
  return short.length + note.length <= text.length ? short : text;
}

const NOTE = /\[\.\.\. (\d{1,9}) characters cut \.\.\.\]/g;

/** Without half a character at its ends. */
function wholeCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, '');
}
