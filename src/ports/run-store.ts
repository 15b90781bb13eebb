import { z } from 'zod';
import { RunAnswer, RunBrief } from '../core/run/run-result.js';
import { UnitKind } from './unit-store.js';

export const RunStatus = z.enum(['queued', 'running', 'done', 'failed', 'cancelled']);
export type RunStatus = z.infer<typeof RunStatus>;

/** One entry of a run's append-only journal. `seq` counts from 1 within the run, without holes. */
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
  /** The request as it was accepted; the store reads no more of it than `RunBrief` and `RunAnswer` say. */
  request: z.json(),
  /** What the finished run answers, likewise; null until `done`. */
  result: z.json().nullable(),
  /** Why it failed, in the words of the error; null unless `failed`. */
  failure: z.object({ code: z.string(), message: z.string(), next: z.string() }).nullable(),
});
export type Run = z.infer<typeof Run>;

/** A run without what can be megabytes, and what its request and result come to in a line. */
export const RunSummary = Run.omit({ request: true, result: true }).extend(RunBrief.shape);
export type RunSummary = z.infer<typeof RunSummary>;

/** What one process did of a run, in units. */
export const WorkerShare = z.object({
  worker: z.string().describe('Host, process and part of it, as in the run’s events.'),
  rollout: z.int().min(0),
  verdict: z.int().min(0),
  cells: z.int().min(0),
  seconds: z.number().min(0).describe('Of its units, which overlap.'),
});
export type WorkerShare = z.infer<typeof WorkerShare>;

/** How far a run is: events by type, who did what, and the last event. */
export const RunProgress = z.object({
  events: z.int().min(0),
  by_type: z.record(z.string(), z.int()),
  workers: z.array(WorkerShare).describe('Who did what.'),
  last: RunEvent.nullable(),
});
export type RunProgress = z.infer<typeof RunProgress>;

/** A run as it is looked at again and again, without what can be megabytes; `answer` is null until it is done. */
export const RunOverview = Run.omit({ request: true, result: true }).extend({
  progress: RunProgress,
  answer: RunAnswer.nullable(),
});
export type RunOverview = z.infer<typeof RunOverview>;

/** Whether nothing more will happen to a run by itself. */
export function hasEnded(status: RunStatus): boolean {
  return status === 'done' || status === 'failed' || status === 'cancelled';
}

/** What changes with everything that happens to a run. */
export interface RunHead {
  readonly status: RunStatus;
  /** Of its newest event. */
  readonly seq: number;
}

/** Type of the events by which the store itself journals every status, `{status, failure}`; nobody else writes them. */
export const STATUS_EVENT = 'status';

/** Conditions of a change, checked and made in one step. */
export interface RunGuard {
  readonly statuses?: readonly RunStatus[];
  /** Holds the run's lease, see `claim`. */
  readonly owner?: string;
}

/** By what runs are listed; those of one value stand in the order of their making. */
export const RunOrder = z.enum(['created', 'instance', 'k', 'cost']);
export type RunOrder = z.infer<typeof RunOrder>;

/** Which runs are listed, and in which order; what is not said holds for all. */
export interface RunListing {
  readonly statuses?: readonly RunStatus[] | undefined;
  /** Runs of this instance. */
  readonly instance?: string | undefined;
  /** Runs whose id, instance or selected candidate has these letters in it, large or small. */
  readonly search?: string | undefined;
  readonly order?: RunOrder | undefined;
  /** Default true: newest, or largest, first. Unknown values count as smallest. */
  readonly descending?: boolean | undefined;
}

export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Give this back as `before`, with the same listing, to read on; null at the end. */
  readonly next: string | null;
}

/** A run among others that wait, see `RunStore.create`. */
export interface Queued {
  readonly id: string;
  readonly submitter: string;
}

/** How many runs there are, for those who watch. */
export interface RunCensus {
  readonly counts: Readonly<Record<RunStatus, number>>;
  /** Since when the run waits that waits longest, as an ISO time; null when none is queued. */
  readonly oldestQueued: string | null;
}

/**
 * Runs and their journals. Every method may throw StoreUnavailableError. A status and the event that tells it are
 * written together, so the last event of a run that ended is its last status.
 */
export abstract class RunStore {
  /**
   * Creates a run, or gives the one that already has this `key` (an Idempotency-Key, or the hash of a command's
   * request), so that asking twice never runs twice. @throws BadInputError when the key is held by another request.
   * @param submitter who asks, by name of the API key; `''` (the default) without. Those who share a store share it fairly.
   */
  abstract create(key: string, request: Run['request'], submitter?: string): Promise<{ run: Run; created: boolean }>;
  abstract get(id: string): Promise<Run | null>;
  abstract overview(id: string): Promise<RunOverview | null>;
  abstract statusOf(id: string): Promise<RunStatus | null>;
  /** How far each of these runs is; those that are not there are left out. */
  abstract heads(ids: readonly string[]): Promise<ReadonlyMap<string, RunHead>>;
  /** Newest first, or as `listing` says. @throws BadInputError for a `before` that no page gave */
  abstract list(limit: number, before: string | null, listing?: RunListing): Promise<RunPage>;
  /** Oldest first. */
  abstract withStatus(statuses: readonly RunStatus[]): Promise<readonly Queued[]>;
  abstract census(): Promise<RunCensus>;
  /** @returns false, and changes nothing, when there is no such run or `onlyIf` does not hold. */
  abstract update(
    id: string,
    change: Partial<Pick<Run, 'status' | 'result' | 'failure'>>,
    onlyIf?: RunGuard,
  ): Promise<boolean>;
  /**
   * Takes the run for `owner`, or extends what `owner` holds: it is `running` and nobody else's for `leaseMs`.
   * @returns false when another holds it, or it is neither queued nor running
   */
  abstract claim(id: string, owner: string, leaseMs: number): Promise<boolean>;
  /** Gives a run that `owner` still holds back to the queue. */
  abstract release(id: string, owner: string): Promise<void>;
  /**
   * @param by who writes: the owner of the run's lease, or of a unit's of it
   * @throws InterruptedError when the run has ended or is gone, or is no longer `by`'s: its journal is closed to them.
   */
  abstract append(id: string, type: string, data: RunEvent['data'], by?: string): Promise<RunEvent>;
  /** The events after `afterSeq`, at most `limit` of them. */
  abstract events(id: string, afterSeq: number, limit?: number): Promise<readonly RunEvent[]>;
  abstract delete(id: string): Promise<void>;
}

/** Types of the events that `workOf` goes by. */
export const WORK_EVENTS = ['unit', STATUS_EVENT];

const UnitData = z.object({ kind: UnitKind, worker: z.string(), seconds: z.number() });

/** Who did what of a run, by name. A run that is taken up again tells everything again, so that only its last part counts. */
export function workOf(events: readonly RunEvent[]): WorkerShare[] {
  const last = events.findLastIndex(({ type, data }) => type === STATUS_EVENT && isRunning(data));
  const shares = new Map<string, WorkerShare>();
  for (const { type, data } of events.slice(last + 1)) {
    const unit = type === 'unit' ? UnitData.safeParse(data).data : undefined;
    if (unit === undefined) continue;
    const { worker, kind } = unit;
    const share = shares.get(worker) ?? { worker, rollout: 0, verdict: 0, cells: 0, seconds: 0 };
    const seconds = Math.round((share.seconds + unit.seconds) * 1000) / 1000;
    shares.set(worker, { ...share, [kind]: share[kind] + 1, seconds });
  }
  return [...shares.values()].sort((a, b) => (a.worker < b.worker ? -1 : 1));
}

function isRunning(data: RunEvent['data']): boolean {
  return (data as { status?: unknown } | null)?.status === 'running';
}
