import { z } from 'zod';
import type { Spent } from '../core/budget/budget.js';
import { Failure } from '../core/errors/errors.js';
import { RunAnswer, RunBrief } from '../core/run/run-result.js';

export const RunStatus = z.enum(['queued', 'running', 'done', 'failed', 'cancelled']);
export type RunStatus = z.infer<typeof RunStatus>;

/** One entry of a run's append-only journal. `seq` counts from 1 within the run, without gaps. */
export const RunEvent = z.object({
  seq: z.int().positive(),
  at: z.iso.datetime(),
  type: z.string(),
  data: z.json(),
});
export type RunEvent = z.infer<typeof RunEvent>;

export const Run = z.object({
  id: z.string(),
  status: RunStatus,
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  /** The request as accepted; the store reads only the members of `RunBrief` and `RunAnswer`. */
  request: z.json(),
  /** The finished run's result, likewise; null until `done`. */
  result: z.json().nullable(),
  /** The error that failed the run; null unless `failed`. */
  failure: Failure.nullable(),
});
export type Run = z.infer<typeof Run> & {
  /** What it has come to, also if it failed; absent = unknown. */
  readonly spent?: Spent | undefined;
};

/** A run without members that can be megabytes, plus a summary of its request and result. */
export const RunSummary = Run.omit({ request: true, result: true }).extend({
  ...RunBrief.shape,
  /** Id of the benchmark that it belongs to, and its arm there; null = none. */
  benchmark: z.string().nullable(),
  arm: z.string().nullable(),
});
export type RunSummary = z.infer<typeof RunSummary>;

/**
 * Parts of a run that other processes may do: a trajectory, an answer of a judge or of another model, tests on one
 * patch.
 */
export const PartKind = z.enum(['rollout', 'verdict', 'call', 'cells']);
export type PartKind = z.infer<typeof PartKind>;

/** The contribution of one process to a run that several worked on. */
const WorkerShare = z.object({
  worker: z.string().describe('Host and process id, as in the run’s events.'),
  rollout: z.int().min(0),
  verdict: z.int().min(0).describe('Answers from judges.'),
  call: z.int().min(0).describe('Answers from other models.'),
  cells: z.int().min(0),
  seconds: z.number().min(0).describe('Sum over its parts, which overlap.'),
});
type WorkerShare = z.infer<typeof WorkerShare>;

/** Progress of a run: events by type, contributions of processes, and the last event. */
export const RunProgress = z.object({
  events: z.int().min(0),
  by_type: z.record(z.string(), z.int()),
  workers: z.array(WorkerShare).describe('The work of each worker; empty if one process did everything.'),
  last: RunEvent.nullable(),
});
export type RunProgress = z.infer<typeof RunProgress>;

/** A run as it is polled, without members that can be megabytes; `answer` is null until it is done. */
export const RunOverview = Run.omit({ request: true, result: true }).extend({
  progress: RunProgress,
  answer: RunAnswer.nullable(),
});
export type RunOverview = z.infer<typeof RunOverview>;

/** Whether the run is in a final state. */
export function hasEnded(status: RunStatus): boolean {
  return status === 'done' || status === 'failed' || status === 'cancelled';
}

/** Changes with every event of a run. */
export interface RunHead {
  readonly status: RunStatus;
  /** Number of its newest event. */
  readonly seq: number;
}

/** Type of the events in which the store journals every status, `{status, failure}`; only the store writes them. */
export const STATUS_EVENT = 'status';

/** Conditions of an update, checked atomically with it. */
export interface RunGuard {
  readonly statuses?: readonly RunStatus[];
  /** The owner that must hold the run, see `claim`. */
  readonly owner?: string;
}

/** Sort keys for runs; equal values are ordered by creation. */
export const RunOrder = z.enum(['created', 'instance', 'k', 'cost']);
export type RunOrder = z.infer<typeof RunOrder>;

/** Filters and order of listed runs; absent filters match all. */
export interface RunListing {
  readonly statuses?: readonly RunStatus[] | undefined;
  readonly instance?: string | undefined;
  readonly tag?: string | undefined;
  /** Runs whose id, instance or selected candidate contains this text, ignoring case. */
  readonly search?: string | undefined;
  readonly order?: RunOrder | undefined;
  /** Default true: newest, or largest, first. Unknown values count as smallest. */
  readonly descending?: boolean | undefined;
}

export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Pass this as `before`, with the same listing, to continue; null at the end. */
  readonly next: string | null;
}

/** A run that has not ended, as the workers need it. */
export interface OpenRun {
  readonly id: string;
  readonly submitter: string;
  /** Identifies the settings under which it was accepted. */
  readonly setup: string;
}

/** Circumstances in which a run was accepted. */
export interface Acceptance {
  /** Name of the API key, '' (the default) without one. Submitters share the workers fairly. */
  readonly submitter?: string;
  /** Identifies the settings under which it was accepted; the default is ''. */
  readonly setup?: string;
  /** Belongs to a command, which executes it itself; workers ignore it. */
  readonly alone?: boolean;
  /** The benchmark and arm that it belongs to. */
  readonly benchmark?: { readonly id: string; readonly arm: string };
}

/** Conditions of a claim. */
export interface ClaimGuard {
  /** Only runs accepted under these settings. */
  readonly setup?: string | undefined;
  /** A run whose owner satisfies this keeps its owner. */
  readonly unless?: ((owner: string) => boolean) | undefined;
}

/** Counts of runs, for monitoring. */
export interface RunCensus {
  readonly counts: Readonly<Record<RunStatus, number>>;
  /** When the longest-waiting run was queued, as an ISO time; null when none is queued. */
  readonly oldestQueued: string | null;
}

/**
 * Runs and their journals. Every method may throw StoreUnavailableError. A status and its event are written together,
 * so the last event of a run that ended is its final status.
 */
export abstract class RunStore {
  /**
   * Creates a run, or returns the one that has this `key` (an Idempotency-Key, or the hash of a command's request), so
   * that repeating a request never runs it twice. @throws BadInputError if the key belongs to another request.
   */
  abstract create(key: string, request: Run['request'], how?: Acceptance): Promise<{ run: Run; created: boolean }>;
  abstract get(id: string): Promise<Run | null>;
  /** Bytes of request and result; null if the run does not exist. */
  abstract size(id: string): Promise<number | null>;
  abstract overview(id: string): Promise<RunOverview | null>;
  abstract statusOf(id: string): Promise<RunStatus | null>;
  /** Head of each of these runs; runs that do not exist are omitted. */
  abstract heads(ids: readonly string[]): Promise<ReadonlyMap<string, RunHead>>;
  /** Newest first, or in the order of `listing`. @throws BadInputError for a `before` that is not from a page */
  abstract list(limit: number, before: string | null, listing?: RunListing): Promise<RunPage>;
  /** Oldest first, without those of commands. */
  abstract open(): Promise<readonly OpenRun[]>;
  /** Moves an open run to other settings. @returns false, and changes nothing, unless it still has those of `from` */
  abstract adopt(id: string, setup: string, from: string): Promise<boolean>;
  /** How many runs of this run's submitter are being worked on, itself included. */
  abstract siblings(id: string): Promise<number>;
  abstract census(): Promise<RunCensus>;
  /** @returns false, and changes nothing, if the run does not exist or `onlyIf` does not hold. */
  abstract update(
    id: string,
    change: Partial<Pick<Run, 'status' | 'result' | 'failure' | 'spent'>>,
    onlyIf?: RunGuard,
  ): Promise<boolean>;
  /**
   * Claims the run for `owner`, replacing any previous owner: it becomes `running`, and a previous owner's changes are
   * refused.
   * @returns true; the current owner if `only.unless` leaves it the run; or false if the run has ended, is gone or does
   * not match `only`
   */
  abstract claim(id: string, owner: string, only?: ClaimGuard): Promise<boolean | string>;
  /** Whether `owner` still holds the run. */
  abstract isHeld(id: string, owner: string): Promise<boolean>;
  /** Returns a run that `owner` still holds to the queue. */
  abstract release(id: string, owner: string): Promise<void>;
  /**
   * @param by the run's owner; absent = a process that does a part of it
   * @throws InterruptedError if the run has ended or is gone, or `by` no longer owns it: the journal is closed to the
   * caller.
   */
  abstract append(id: string, type: string, data: RunEvent['data'], by?: string): Promise<RunEvent>;
  /**
   * The events after `afterSeq`, at most `limit` of them.
   * @param type only these; absent = all
   */
  abstract events(id: string, afterSeq: number, limit?: number, type?: string): Promise<readonly RunEvent[]>;
  abstract delete(id: string): Promise<void>;
}

/** Types of the events that `workOf` reads. */
export const WORK_EVENTS = ['part', STATUS_EVENT];

const PartData = z.object({ kind: PartKind, worker: z.string(), seconds: z.number() });

/**
 * Contributions of processes to a run, by name. A resumed run journals everything again, so only events since its last
 * start count.
 */
export function workOf(events: readonly RunEvent[]): WorkerShare[] {
  const last = events.findLastIndex(({ type, data }) => type === STATUS_EVENT && isRunning(data));
  const shares = new Map<string, WorkerShare>();
  for (const { type, data } of events.slice(last + 1)) {
    const part = type === 'part' ? PartData.safeParse(data).data : undefined;
    if (part === undefined) continue;
    const { worker, kind } = part;
    const share = shares.get(worker) ?? { worker, rollout: 0, verdict: 0, call: 0, cells: 0, seconds: 0 };
    const seconds = Math.round((share.seconds + part.seconds) * 1000) / 1000;
    shares.set(worker, { ...share, [kind]: share[kind] + 1, seconds });
  }
  return [...shares.values()].sort((a, b) => (a.worker < b.worker ? -1 : 1));
}

/** Whether a status event says `running`. */
export function isRunning(data: RunEvent['data']): boolean {
  return (data as { status?: unknown } | null)?.status === 'running';
}

export interface Swept {
  readonly runs: number;
  readonly benchmarks: number;
  /** Runs deleted with their benchmarks. */
  readonly benchmark_runs: number;
  readonly results: number;
  readonly reports: number;
  readonly audited: number;
}

/** Deletes old data. */
export abstract class Retention {
  /**
   * Deletes runs that ended before `cutoff` with their journals, results not read by any run since, and reports and
   * audit entries from before it, in small batches that do not block others. Runs that have not ended stay, regardless
   * of age; runs of a benchmark are deleted with it.
   * @param cutoff ms since 1970; the last use of a result is known to within a day
   * @throws StoreUnavailableError
   */
  abstract sweep(cutoff: number): Promise<Swept>;
}
