import { type Candidate } from '../core/candidate.js';
import { type Cell } from '../core/cell.js';
import { RunConflictError, RunNotFoundError } from '../core/run-errors.js';
import { candidateOf } from '../core/rollout.js';
import { RunRequest } from '../core/run-request.js';
import { RunResult } from '../core/run-result.js';
import { type Verdict } from '../core/verdict.js';
import { hasEnded, type Run, type RunEvent } from '../ports/run-store.js';

/** How far a run is: events by type, and the last one. */
interface Progress {
  readonly events: number;
  readonly by_type: Readonly<Record<string, number>>;
  readonly last: RunEvent | null;
}

export type RunView = Pick<Run, 'id' | 'status' | 'created_at' | 'updated_at' | 'failure'> & {
  readonly progress: Progress;
  readonly selection: RunResult['selection'] | null;
  readonly statistics: RunResult['statistics'] | null;
  readonly usage: RunResult['usage'] | null;
};

export type CandidateView = Pick<Candidate, 'candidate_id' | 'patch' | 'trajectory'> & {
  /** Empty until the run is done. */
  readonly verdicts: readonly Verdict[];
  readonly cells: readonly Cell[];
};

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
  return { events: events.length, by_type: Object.fromEntries(counts), last: events.at(-1) ?? null };
}
