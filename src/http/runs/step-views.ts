import { z } from 'zod';
import { RunNotFoundError } from '../../core/errors/errors.js';
import { Cell } from '../../core/run/generated-test.js';
import type { OpenedRun } from './evidence-of-run.js';
import type { TestView } from './evidence-view.js';

const MAX_LIMIT = 500;
const MAX_CHARACTERS = 10_000_000;

/** `?from=0&limit=50&characters=20000`: steps by number, from 0; longer texts are cut in the middle to `characters`. */
export const StepsQuery = z.strictObject({
  from: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(50),
  characters: z.coerce.number().int().min(100).max(MAX_CHARACTERS).default(20_000),
});
export type StepsQuery = z.infer<typeof StepsQuery>;

const CutText = z.object({
  text: z.string(),
  /** Number of characters replaced by `[…]`; 0 = complete. */
  cut: z.int(),
});

/** A step; fields that exist only for sampled trajectories are null for a supplied one. */
export const StepView = z.object({
  number: z.int(),
  thought: CutText,
  action: CutText,
  observation: CutText,
  exit_code: z.int().nullable(),
  input_tokens: z.int().nullable(),
  cached_input_tokens: z.int().nullable(),
  output_tokens: z.int().nullable(),
  llm_s: z.number().nullable(),
  env_s: z.number().nullable(),
});
export type StepView = z.infer<typeof StepView>;

export const StepsView = z.object({ total: z.int(), from: z.int(), steps: z.array(StepView) });
export type StepsView = z.infer<typeof StepsView>;

const UNMEASURED = {
  exit_code: null,
  input_tokens: null,
  cached_input_tokens: null,
  output_tokens: null,
  llm_s: null,
  env_s: null,
};

/** @throws RunNotFoundError if the run has no such test */
export function testIn({ run, request, result }: OpenedRun, testId: string): TestView {
  const test = (request.tests ?? result?.tests ?? []).find(({ test_id }) => test_id === testId);
  if (test === undefined) throw new RunNotFoundError(`Run "${run.id}" has no test "${testId}".`);
  return test;
}

/** @throws RunNotFoundError if the run has no such candidate */
export function stepsOf(opened: OpenedRun, candidateId: string, { from, limit, characters }: StepsQuery): StepsView {
  const rollout = opened.result?.rollouts.find(({ candidate_id }) => candidate_id === candidateId);
  const candidate = candidateIn(opened, candidateId);
  const steps = rollout?.steps ?? candidate.trajectory?.steps ?? [];
  const page = steps.slice(from, from + limit).map((step, index): StepView => {
    const { thought, action, observation, ...measured } = step;
    return {
      number: from + index,
      thought: cutTo(characters, thought),
      action: cutTo(characters, action),
      observation: cutTo(characters, observation),
      ...UNMEASURED,
      ...measured,
    };
  });
  return { total: steps.length, from, steps: page };
}

/** @throws RunNotFoundError */
export function candidateIn({ run, candidates }: OpenedRun, candidateId: string): OpenedRun['candidates'][number] {
  const candidate = candidates.find(({ candidate_id }) => candidate_id === candidateId);
  if (candidate !== undefined) return candidate;
  const next = 'Look at its evidence for the ids; sampled candidates are there once the run is done.';
  throw new RunNotFoundError(`Run "${run.id}" has no candidate "${candidateId}".`, next);
}

function cutTo(characters: number, text: string): z.infer<typeof CutText> {
  if (text.length <= characters) return { text, cut: 0 };
  const half = Math.floor(characters / 2);
  return { text: `${text.slice(0, half)}\n[…]\n${text.slice(-half)}`, cut: text.length - 2 * half };
}

/** `?candidate_id=…` or `?base=true`, `?test_id=…`, `?suite=…`: filters; without any, all cells. */
export const CellsQuery = z.strictObject({
  candidate_id: z.string().optional(),
  base: z.literal('true').optional(),
  test_id: z.string().optional(),
  suite: Cell.shape.suite.optional(),
});
export type CellsQuery = z.infer<typeof CellsQuery>;

export const CellsView = z.object({ cells: z.array(Cell) });
export type CellsView = z.infer<typeof CellsView>;

export function cellsOf(cells: readonly Cell[], query: CellsQuery): readonly Cell[] {
  const { candidate_id, base, test_id, suite } = query;
  return cells.filter(
    (cell) =>
      (candidate_id === undefined || cell.candidate_id === candidate_id) &&
      (base === undefined || cell.candidate_id === null) &&
      (test_id === undefined || cell.test_id === test_id) &&
      (suite === undefined || cell.suite === suite),
  );
}
