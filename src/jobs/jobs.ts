import { z } from 'zod';
import { BadInputError, type Failure, UnavailableError } from '../core/errors/errors.js';
import { isStoreOutage } from '../core/errors/unavailable.js';
import type { ResultStore } from '../ports/result-store.js';

/** Work to be done once, by any process with capacity. */
export interface Job {
  /** Selects the {@link JobHandler}. */
  readonly kind: string;
  /**
   * Identifies the work, in at most 64 characters: a content key, or the id of a stored object. Equal keys are one job.
   */
  readonly key: string;
  readonly payload: unknown;
  /** Its place in the queue. */
  readonly turn: Turn;
}

/** Jobs of one line are done in order; lines take turns. */
export interface Turn {
  readonly line: string;
  /**
   * How many lines share one turn: the runs of one API key, so that a key with many runs gets no more than the others.
   */
  readonly of: number;
}

/** Arguments of one execution of a job. */
export interface Work {
  readonly key: string;
  /** Aborts when the job is no longer wanted, or this process has lost it. */
  readonly signal: AbortSignal;
  /** From 1; includes attempts of processes that died. */
  readonly attempt: number;
}

/** Does the jobs of one kind. Repeating a job after an interruption must be cheap: finished parts are stored. */
export interface JobHandler<Payload = unknown, Result = unknown> {
  readonly kind: string;
  readonly payload: z.ZodType<Payload>;
  /** The result stored under the job's key; null = its effect is stored elsewhere, and no caller waits for it. */
  readonly result: z.ZodType<Result> | null;
  /** Concurrent jobs in this process. */
  readonly atOnce: number;
  /** Concurrent jobs of one line; absent = all. */
  readonly atOnceOfLine?: number;
  /** Whether a job may begin now; absent = always. Checked again after a second. */
  mayBegin?(): Promise<boolean>;
  /** @throws UnavailableError, retried if it is retryable, NotNowError */
  perform(payload: Payload, work: Work): Promise<Result>;
}

/**
 * Delivers jobs to handlers. The effect of a job is what it stores, in the ResultStore under its key or elsewhere, so a
 * queue may lose a job or deliver it twice without any loss or double payment. An infrastructure failure is tried three
 * times in all.
 */
export abstract class Jobs {
  /** Starts taking jobs, which wait until then. Call once. */
  abstract start(handlers: readonly JobHandler[]): Promise<void>;
  /** Enqueues a job, whether or not a caller waits for it. A job already queued or under way is left as it is. */
  abstract submit(job: Job): Promise<void>;
  /**
   * Waits for the result of a job; returns it from the store if it was done before. If the signal aborts and no other
   * caller in this process waits, the job is cancelled, except on an InterruptedError: then the job remains for the
   * process that takes over the caller's work, if there are other processes.
   * @throws what the handler threw, as a JobFailedError if another process ran it; and the signal's reason
   */
  abstract have<Result>(job: Job, result: z.ZodType<Result>, signal: AbortSignal): Promise<Result>;
  /** Removes a queued job, and stops one that is under way in this process. */
  abstract cancel(kind: string, key: string): Promise<void>;
  /** Number of other processes that take jobs under some settings; by default under those of this process. */
  abstract others(setup?: string): Promise<number>;
  /** Takes no more jobs, lets active ones continue for `drainMs`, then stops the rest and returns them to the queue. */
  abstract close(drainMs: number): Promise<void>;
}

/** A job failed, with the message of the process that tried it last. */
export class JobFailedError extends UnavailableError {
  readonly code: string;
  readonly retryable = false;

  constructor({ code, message, next }: Failure) {
    super(message, next);
    this.code = code;
  }
}

/** A job must be repeated later, here or elsewhere, for a reason other than the job. */
export class NotNowError extends Error {
  constructor(readonly afterMs: number) {
    super('not now');
  }
}

/** How many processes may be lost over one job before the job counts as the cause. */
export const MOST_LOST = 4;
export const LOST: Failure = {
  code: 'worker-lost',
  message: `It was begun ${MOST_LOST + 1} times, and each time its process was lost.`,
  next: 'Look at the memory and the logs of the workers.',
};

const STORE_BACK_MS = 1_000;

/**
 * For errors after which a job is repeated without counting as an attempt. @returns the delay in ms; null = not such an
 * error
 */
export function notNowMs(error: unknown): number | null {
  if (error instanceof NotNowError) return error.afterMs;
  // A failed write to the store is not the job's failure: another process that reaches the store continues.
  return isStoreOutage(error) ? STORE_BACK_MS : null;
}

/** Does a job and stores its result, unless stored already. @throws BadInputError for an invalid payload */
export async function perform(
  handler: JobHandler,
  { kind, key, payload }: Pick<Job, 'kind' | 'key' | 'payload'>,
  results: ResultStore,
  work: Work,
): Promise<unknown> {
  const known = handler.result?.safeParse(await results.get(key));
  if (known?.success === true) return known.data;
  const read = handler.payload.safeParse(payload);
  if (!read.success) throw new BadInputError(`the payload of a job of the kind "${kind}" cannot be read.`, {}, UPGRADE);
  const done = await handler.perform(read.data, work);
  if (handler.result !== null) await results.put(key, kind, done);
  return done;
}

const UPGRADE = 'Have the same version of bestk run in all processes that share the database.';
