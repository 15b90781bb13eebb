import { z } from 'zod';
import { Candidate, TrajectoryStep } from '../core/candidate.js';
import { Cell } from '../core/cell.js';
import { RunConflictError, RunNotFoundError } from '../core/run-errors.js';
import { candidateOf } from '../core/rollout.js';
import { RunRequest } from '../core/run-request.js';
import { RunResult } from '../core/run-result.js';
import { Verdict } from '../core/verdict.js';
import { hasEnded, Run, RunEvent } from '../ports/run-store.js';
import { workOf, WorkerShare } from './work-of-run.js';

/** The answer to what starts or stops a run. */
export const RunAccepted = Run.pick({ id: true, status: true });
export type RunAccepted = z.infer<typeof RunAccepted>;

/** How far a run is: events by type, who did what, and the last event. */
const Progress = z.object({
  events: z.int().min(0),
  by_type: z.record(z.string(), z.int()),
  workers: z.array(WorkerShare).describe('Who did what.'),
  last: RunEvent.nullable(),
});
type Progress = z.infer<typeof Progress>;

const { selection, statistics, usage } = RunResult.shape;

/** A run as it is answered; the last three are null until it is done. */
export const RunView = Run.pick({ id: true, status: true, created_at: true, updated_at: true, failure: true }).extend({
  progress: Progress,
  selection: selection.nullable(),
  statistics: statistics.nullable(),
  usage: usage.nullable(),
});
export type RunView = z.infer<typeof RunView>;

export const CandidateView = z.object({
  candidate_id: Candidate.shape.candidate_id,
  patch: Candidate.shape.patch,
  trajectory: z
    .object({
      steps: z.array(TrajectoryStep),
      /** How it ended, in R2E-Gym's words or the agent's own; null when unknown. */
      exit_reason: z.string().nullable(),
    })
    .nullable(),
  verdicts: z.array(Verdict).describe('Empty until the run is done.'),
  cells: z.array(Cell).describe('Its row of the matrix; empty until the run is done.'),
});
export type CandidateView = z.infer<typeof CandidateView>;

export function runView(run: Run, events: readonly RunEvent[]): RunView {
  const { id, status, created_at, updated_at, failure } = run;
  const result = resultOf(run);
  return {
    id,
    status,
    created_at,
    updated_at,
    progress: progressOf(events),
    selection: result?.selection ?? null,
    statistics: result?.statistics ?? null,
    usage: result?.usage ?? null,
    failure,
  };
}

/** @throws RunNotFoundError when the run has no such candidate */
export function candidateView(run: Run, candidateId: string): CandidateView {
  const result = resultOf(run);
  const candidates = RunRequest.parse(run.request).candidates ?? result?.rollouts.map(candidateOf);
  const candidate = candidates?.find(({ candidate_id }) => candidate_id === candidateId);
  if (candidate === undefined) {
    throw new RunNotFoundError(
      `Run "${run.id}" has no candidate "${candidateId}".`,
      'Look at its selection for the ids.',
    );
  }
  const { candidate_id, patch, trajectory } = candidate;
  const isIts = (of: { candidate_id: string | null }): boolean => of.candidate_id === candidate_id;
  return {
    candidate_id,
    patch,
    trajectory,
    verdicts: result?.verdicts.filter(isIts) ?? [],
    cells: result?.cells.filter(isIts) ?? [],
  };
}

/** @throws RunConflictError before the run has ended, RunNotFoundError when no patch was worth returning */
export function selectedPatch(run: Run): string {
  if (!hasEnded(run.status)) {
    throw new RunConflictError(
      `Run "${run.id}" is ${run.status}.`,
      'Follow its events, and ask again when it is done.',
    );
  }
  const patch = resultOf(run)?.patch;
  if (patch === undefined || patch === null || patch === '') {
    const why =
      run.status === 'done'
        ? 'no patch was worth returning'
        : `it ${run.status === 'failed' ? 'failed' : 'was cancelled'}`;
    throw new RunNotFoundError(`Run "${run.id}" has no patch: ${why}.`, 'Look at the run to see why.');
  }
  return patch;
}

function resultOf(run: Run): RunResult | null {
  return run.result === null ? null : RunResult.parse(run.result);
}

function progressOf(events: readonly RunEvent[]): Progress {
  const counts = new Map<string, number>();
  for (const { type } of events) counts.set(type, (counts.get(type) ?? 0) + 1);
  const by_type = Object.fromEntries(counts);
  return { events: events.length, by_type, workers: workOf(events), last: events.at(-1) ?? null };
}
