import { z } from 'zod';
import { Failure } from '../core/errors/errors.js';
import { RunAnswer, RunBrief } from '../core/run/run-result.js';

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
  failure: Failure.nullable(),
});
export type Run = z.infer<typeof Run>;

/** A run without what can be megabytes, and what its request and result come to in a line. */
export const RunSummary = Run.omit({ request: true, result: true }).extend({
  ...RunBrief.shape,
  /** Id of the benchmark that it belongs to, and its arm there; null = none. */
  benchmark: z.string().nullable(),
  arm: z.string().nullable(),
});
export type RunSummary = z.infer<typeof RunSummary>;

/** Parts of a run that other processes may do: a trajectory, an answer of a judge or of another model, tests on one patch. */
export const PartKind = z.enum(['rollout', 'verdict', 'call', 'cells']);
export type PartKind = z.infer<typeof PartKind>;

/** What one process did of a run that several worked on. */
const WorkerShare = z.object({
  worker: z.string().describe('Host and process id, as in the run’s events.'),
  rollout: z.int().min(0),
  verdict: z.int().min(0).describe('Answers from judges.'),
  call: z.int().min(0).describe('Answers from other models.'),
  cells: z.int().min(0),
  seconds: z.number().min(0).describe('Sum over its parts, which overlap.'),
});
type WorkerShare = z.infer<typeof WorkerShare>;

/** How far a run is: events by type, who did what, and the last event. */
export const RunProgress = z.object({
  events: z.int().min(0),
  by_type: z.record(z.string(), z.int()),
  workers: z.array(WorkerShare).describe('The work of each worker; empty if one process did everything.'),
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
  /** Works on the run, see `claim`. */
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
  /** Runs with this tag. */
  readonly tag?: string | undefined;
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

/** A run that has not ended, for those who take up runs. */
export interface OpenRun {
  readonly id: string;
  readonly submitter: string;
  /** Names the settings that it was accepted under. */
  readonly setup: string;
}

/** How a run was accepted. */
export interface Acceptance {
  /** Name of the API key, '' (the default) without. Those who share a store share it fairly. */
  readonly submitter?: string;
  /** Names the settings it was accepted under; the default is ''. */
  readonly setup?: string;
  /** A command's, which works on it itself: nobody else takes it up. */
  readonly alone?: boolean;
  /** Of which benchmark and arm it is. */
  readonly benchmark?: { readonly id: string; readonly arm: string };
}

/** Which runs are taken. */
export interface ClaimGuard {
  /** Those that are to be done under these settings. */
  readonly setup?: string | undefined;
  /** Those with an owner of whom this is true are left with it. */
  readonly unless?: ((owner: string) => boolean) | undefined;
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
   */
  abstract create(key: string, request: Run['request'], how?: Acceptance): Promise<{ run: Run; created: boolean }>;
  abstract get(id: string): Promise<Run | null>;
  /** Bytes of what was asked and answered; null when there is no such run. */
  abstract size(id: string): Promise<number | null>;
  abstract overview(id: string): Promise<RunOverview | null>;
  abstract statusOf(id: string): Promise<RunStatus | null>;
  /** How far each of these runs is; those that are not there are left out. */
  abstract heads(ids: readonly string[]): Promise<ReadonlyMap<string, RunHead>>;
  /** Newest first, or as `listing` says. @throws BadInputError for a `before` that no page gave */
  abstract list(limit: number, before: string | null, listing?: RunListing): Promise<RunPage>;
  /** Oldest first, without those of commands. */
  abstract open(): Promise<readonly OpenRun[]>;
  /** Says that a run that is open is now to be done under other settings. */
  abstract adopt(id: string, setup: string): Promise<void>;
  /** How many runs of the one who asked for this one are being worked on, itself included. */
  abstract siblings(id: string): Promise<number>;
  abstract census(): Promise<RunCensus>;
  /** @returns false, and changes nothing, when there is no such run or `onlyIf` does not hold. */
  abstract update(
    id: string,
    change: Partial<Pick<Run, 'status' | 'result' | 'failure'>>,
    onlyIf?: RunGuard,
  ): Promise<boolean>;
  /**
   * Takes the run for `owner`, whoever had it: from now on it is `running`, and what others do in its name is refused.
   * @returns true; the owner with whom `only` leaves it; or false when it has ended, is gone, or is not what `only` says
   */
  abstract claim(id: string, owner: string, only?: ClaimGuard): Promise<boolean | string>;
  /** Whether the run is still `owner`'s to work on. */
  abstract isHeld(id: string, owner: string): Promise<boolean>;
  /** Gives a run that `owner` still holds back to the queue. */
  abstract release(id: string, owner: string): Promise<void>;
  /**
   * @param by the run's owner; absent = somebody who does a part of it
   * @throws InterruptedError when the run has ended or is gone, or is no longer `by`'s: its journal is closed to them.
   */
  abstract append(id: string, type: string, data: RunEvent['data'], by?: string): Promise<RunEvent>;
  /** The events after `afterSeq`, at most `limit` of them. */
  abstract events(id: string, afterSeq: number, limit?: number): Promise<readonly RunEvent[]>;
  abstract delete(id: string): Promise<void>;
}

/** Types of the events that `workOf` goes by. */
export const WORK_EVENTS = ['part', STATUS_EVENT];

const PartData = z.object({ kind: PartKind, worker: z.string(), seconds: z.number() });

/** Who did what of a run, by name. A run that is taken up again tells everything again, so that only its last part counts. */
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

/** Of an event that tells a status. */
export function isRunning(data: RunEvent['data']): boolean {
  return (data as { status?: unknown } | null)?.status === 'running';
}

export interface Swept {
  readonly runs: number;
  readonly benchmarks: number;
  /** Runs that went with their benchmarks. */
  readonly benchmark_runs: number;
  readonly results: number;
  readonly reports: number;
  readonly audited: number;
}

/** Forgets what is old. */
export abstract class Retention {
  /**
   * Deletes runs that ended before `cutoff`, with their journals, results that no run asked for since, reports
   * made first and audit entries written before, in portions that keep nobody waiting. Runs that have not ended stay, however
   * old; those of a benchmark stay and go with it.
   * @param cutoff ms since 1970; results' use is known to within a day
   * @throws StoreUnavailableError
   */
  abstract sweep(cutoff: number): Promise<Swept>;
}
