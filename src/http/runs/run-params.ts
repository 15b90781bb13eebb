import { Injectable, type PipeTransform } from '@nestjs/common';
import type { Request } from 'express';
import { z } from 'zod';
import { BadInputError, RunNotFoundError } from '../../core/errors/errors.js';
import type { Submission } from '../../runs/run-intake.js';
import { callerOf } from '../guard/caller.js';

/** What an id of ours can look like; it says nothing to a client. Nothing else comes near the store. */
export const RunId = z.string().regex(/^[\w-]{1,64}$/, 'is no id of this service');

/** Takes the id of a run from a path. @throws RunNotFoundError for what no run can be called */
@Injectable()
export class KnownRunId implements PipeTransform<string, string> {
  transform(id: string): string {
    if (RunId.safeParse(id).success) return id;
    throw new RunNotFoundError('There is no run of that id.');
  }
}

const MAX_LENGTH = 255;

/**
 * Who asks for a run over HTTP, and its key: the client's Idempotency-Key, apart from those of commands and of other API keys,
 * or a new one.
 * @throws BadInputError for one that is empty or too long
 */
export function submissionOf(idempotencyKey: string | undefined, request: Request): Submission {
  const owner = callerOf(request).key?.name ?? null;
  return { key: runKey(idempotencyKey, owner), submitter: owner ?? '' };
}

/** The key of a run: see {@link submissionOf}. */
export function runKey(idempotencyKey: string | undefined, owner: string | null): string {
  if (idempotencyKey === undefined) return `http-once:${globalThis.crypto.randomUUID()}`;
  if (idempotencyKey === '' || idempotencyKey.length > MAX_LENGTH) {
    throw new BadInputError(`must have 1 to ${MAX_LENGTH} characters.`, { field: 'Idempotency-Key' });
  }
  return owner === null ? `http:${idempotencyKey}` : `http ${owner}:${idempotencyKey}`;
}

/** An answer that is no problem. Without `type` it has no body. */
export interface Answer {
  readonly description: string;
  readonly type?: string;
  /** Of a JSON body: its name among the components. */
  readonly schema?: string;
  /** Headers that matter, with what they say. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One method of one path, as the document describes it. */
export interface Operation {
  /** Name of the call in clients. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With `{id}` for what varies. */
  readonly path: string;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: z.ZodType }>>;
  readonly body?: { readonly types: readonly string[]; readonly schema?: string };
  readonly answers: Readonly<Record<number, Answer>>;
  /** Statuses of problems beside those that every operation may have. */
  readonly problems?: Readonly<Record<number, string>>;
}

export const JSON_TYPE = 'application/json';

/** A JSON answer of one schema. */
export function json(schema: string, description: string): Answer {
  return { description, type: JSON_TYPE, schema };
}

/** The problem of every operation on one run. */
export const UNKNOWN_RUN = { 404: 'There is no such run.' };

/** Of the operations that start a run. */
export const IDEMPOTENT: Operation['headers'] & object = {
  'Idempotency-Key': {
    description: 'Asking again with the same key and body gives the same run, and never a second one.',
    schema: z.string().min(1).max(255),
  },
};
