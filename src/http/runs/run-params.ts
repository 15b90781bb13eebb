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
