import { z } from 'zod';
import { BadInputError, type Failure, UnavailableError } from '../core/errors/errors.js';
import { StoreUnavailableError } from '../core/errors/unavailable.js';
import type { ResultStore } from '../ports/result-store.js';

/** What is to be done once, in whichever process has room for it. */
export interface Job {
  /** Names who does it, see {@link JobHandler}. */
  readonly kind: string;
  /** Names what is done, in 64 letters at most: a content key, or the id of something stored. Asking twice is one job. */
  readonly key: string;
  readonly payload: unknown;
  /** Whose turn it takes. */
  readonly turn: Turn;
}

/** Jobs of one line stand behind each other; lines take turns. */
export interface Turn {
  readonly line: string;
  /** How many lines share one turn: the runs of one API key, so that the key with most runs has no more than the others. */
  readonly of: number;
}

/** What one execution of a job is given. */
export interface Work {
  readonly key: string;
  /** Aborts when nobody wants the job any more, or this process lost it. */
  readonly signal: AbortSignal;
  /** From 1; those of dead processes count. */
  readonly attempt: number;
}

/** Does the jobs of one kind. Doing one again after an interruption must be cheap: what was finished is stored. */
export interface JobHandler<Payload = unknown, Result = unknown> {
  readonly kind: string;
  readonly payload: z.ZodType<Payload>;
  /** What is stored under the job's key when it is done; null = its effect is stored elsewhere, and nobody waits for it. */
  readonly result: z.ZodType<Result> | null;
  /** How many this process does at once. */
  readonly atOnce: number;
  /** Of these, how many of one line at most; absent = all. */
  readonly atOnceOfLine?: number;
  /** Whether one may begin now; absent = always. Asked again a second later. */
  mayBegin?(): Promise<boolean>;
  /** @throws UnavailableError that is tried again where it is retryable, NotNowError */
  perform(payload: Payload, work: Work): Promise<Result>;
}

/**
 * Delivers jobs to handlers. The effect of a job is what it stores, in the ResultStore under its key or elsewhere: a queue may
 * lose a job or deliver it twice, and nothing is lost or paid twice. An infrastructure failure is tried three times in all.
 */
export abstract class Jobs {
  /** Begins to take jobs; until then they wait. Once. */
  abstract start(handlers: readonly JobHandler[]): Promise<void>;
  /** Has a job done, whoever waits for it. One that waits or is under way stays as it is. */
  abstract submit(job: Job): Promise<void>;
  /**
   * Waits for the result of a job, from the store where it was done before. When the signal aborts and nobody else waits
   * here, the job is cancelled; but an InterruptedError leaves it to who takes up the asker's work, where other processes may.
   * @throws what the handler threw, as a JobFailedError where another process did it; and the signal's reason
   */
  abstract have<Result>(job: Job, result: z.ZodType<Result>, signal: AbortSignal): Promise<Result>;
  /** Takes back a job that waits, and stops one that is under way in this process. */
  abstract cancel(kind: string, key: string): Promise<void>;
  /** How many other processes take jobs under some settings; those of this process where none are named. */
  abstract others(setup?: string): Promise<number>;
  /** Takes no more, lets what is under way go on for `drainMs`, stops the rest and gives it back. */
  abstract close(drainMs: number): Promise<void>;
}

/** A job could not be done, in the words of the process that tried last. */
export class JobFailedError extends UnavailableError {
  readonly code: string;
  readonly retryable = false;

  constructor({ code, message, next }: Failure) {
    super(message, next);
    this.code = code;
  }
}

/** A job that is to be done again, here or elsewhere, through no fault of its own. */
export class NotNowError extends Error {
  constructor(readonly afterMs: number) {
    super('not now');
  }
}

/** Processes that may be lost over one job before it is the job that kills them. */
export const MOST_LOST = 4;
export const LOST: Failure = {
  code: 'worker-lost',
  message: `It was begun ${MOST_LOST + 1} times, and each time its process was lost.`,
  next: 'Look at the memory and the logs of the workers.',
};

const STORE_BACK_MS = 1_000;

/** What is to be done again later, and does not count as a try. @returns after how many ms; null = it is no such error */
export function notNowMs(error: unknown): number | null {
  if (error instanceof NotNowError) return error.afterMs;
  // What could not be kept is no failure of the job: whoever has the store goes on.
  return error instanceof StoreUnavailableError && error.retryable ? STORE_BACK_MS : null;
}

/** Does a job unless its result is stored, and stores it. @throws BadInputError for a payload of another shape */
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
