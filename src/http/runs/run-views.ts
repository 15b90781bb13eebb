import { z } from 'zod';
import { Injectable, type PipeTransform } from '@nestjs/common';
import type { Request } from 'express';
import { Candidate, TrajectoryStep } from '../../core/run/candidate.js';
import { Cell } from '../../core/run/generated-test.js';
import { RunConflictError, RunNotFoundError, BadInputError } from '../../core/errors/errors.js';
import { RunAnswer } from '../../core/run/run-result.js';
import { Verdict } from '../../core/run/verdict.js';
import {
  hasEnded,
  Run,
  type RunListing,
  RunOrder,
  RunOverview,
  type RunPage,
  RunStatus,
  RunSummary,
} from '../../ports/run-store.js';
import type { OpenedRun } from './evidence-of-run.js';
import { candidateIn } from './step-views.js';
import type { Submission } from '../../runs/run-intake.js';
import { callerOf } from '../guard/caller.js';

/** The answer to starting or stopping a run. */
export const RunAccepted = Run.pick({ id: true, status: true });
export type RunAccepted = z.infer<typeof RunAccepted>;

const { selection, statistics, usage } = RunAnswer.shape;

/** A run as returned; the last three are null until it is done. */
export const RunView = RunOverview.omit({ answer: true }).extend({
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
      /** How it ended, in R2E-Gym's terms or the agent's own; null if unknown. */
      exit_reason: z.string().nullable(),
    })
    .nullable(),
  verdicts: z.array(Verdict).describe('Empty until the run is done.'),
  cells: z.array(Cell).describe('The candidate’s row of the matrix; empty until the run is done.'),
});
export type CandidateView = z.infer<typeof CandidateView>;

export function runView({ answer, ...run }: RunOverview): RunView {
  return { ...run, ...(answer ?? { selection: null, statistics: null, usage: null }) };
}

/** @throws RunNotFoundError if the run has no such candidate */
export function candidateView(opened: OpenedRun, candidateId: string): CandidateView {
  const { candidate_id, patch, trajectory } = candidateIn(opened, candidateId);
  const isIts = (of: { candidate_id: string | null }): boolean => of.candidate_id === candidate_id;
  return {
    candidate_id,
    patch,
    trajectory,
    verdicts: opened.result?.verdicts.filter(isIts) ?? [],
    cells: opened.result?.cells.filter(isIts) ?? [],
  };
}

/** @throws RunConflictError before the run has ended, RunNotFoundError if no patch was worth returning */
export function selectedPatch({ run: { id, status }, result }: OpenedRun): string {
  if (!hasEnded(status)) {
    throw new RunConflictError(`Run "${id}" is ${status}.`, 'Follow its events, and try again when it is done.');
  }
  const patch = result?.patch;
  if (patch === undefined || patch === null || patch === '') {
    const why =
      status === 'done' ? 'no patch was worth returning' : `it ${status === 'failed' ? 'failed' : 'was cancelled'}`;
    throw new RunNotFoundError(`Run "${id}" has no patch: ${why}.`, 'Look at the run to see why.');
  }
  return patch;
}

const SORTS = RunOrder.options.flatMap((order) => [order, `-${order}`] as const);

/** `?status=queued,running&instance=…&q=…&sort=-cost`: filter and order of a list of runs (newest first by default). */
const ListingQuery = z.strictObject({
  status: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(RunStatus).min(1))
    .optional(),
  instance: z.string().min(1).max(512).optional(),
  tag: z.string().min(1).max(64).optional(),
  /** Substring of the run's id, its instance or its selected candidate. */
  q: z.string().max(512).optional(),
  /** With a minus: descending. */
  sort: z.enum(SORTS).default('-created'),
});
type ListingQuery = z.infer<typeof ListingQuery>;

export function listingOf({ status, instance, tag, q, sort }: ListingQuery): RunListing {
  return {
    statuses: status,
    instance,
    tag,
    search: q,
    order: RunOrder.parse(sort.replace('-', '')),
    descending: sort.startsWith('-'),
  };
}

/** Syntax of ids; they are opaque to clients. Other values never reach the store. */
export const RunId = z.string().regex(/^[\w-]{1,64}$/, 'is not an id of this service');

/** Fields that name a page: up to `most` entries, by default `preset`, from the `next_cursor` of the previous page. */
export function pageQuery(most: number, preset: number, cursor = RunId) {
  return { limit: z.coerce.number().int().min(1).max(most).default(preset), cursor: cursor.optional() };
}

/** A position in any order, at most as long as an instance id, in the alphabet of ids. */
const Cursor = z.string().regex(/^[\w-]{1,6000}$/, 'is not a cursor of this service');

/** `?limit=20&cursor=…`: the cursor is the `next_cursor` of the previous page, used with the same filter and order. */
export const PageQuery = ListingQuery.extend(pageQuery(100, 20, Cursor));
export type PageQuery = z.infer<typeof PageQuery>;

export const RunPageView = z.object({
  runs: z.array(RunSummary),
  next_cursor: z.string().nullable().describe('`cursor` of the next page; null on the last page.'),
});
export type RunPageView = z.infer<typeof RunPageView>;

export function runPageView({ runs, next }: RunPage): RunPageView {
  return { runs: [...runs], next_cursor: next };
}

/**
 * Accepts the id of a run from a path.
 * @throws RunNotFoundError for an impossible id
 */
@Injectable()
export class KnownRunId implements PipeTransform<string, string> {
  transform(id: string): string {
    if (RunId.safeParse(id).success) return id;
    throw new RunNotFoundError('There is no run with this id.');
  }
}

const MAX_LENGTH = 255;

/**
 * The submitter and key of a run requested over HTTP: the client's Idempotency-Key, in a namespace separate from those of
 * commands and of other API keys, or a new key.
 * @throws BadInputError for a key that is empty or too long
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

/** A successful answer; without `type` it has no body. */
export interface Answer {
  readonly description: string;
  readonly type?: string;
  /** Types that it has instead where `Accept` names them. */
  readonly others?: readonly string[];
  /** Name of a JSON body's schema among the components. */
  readonly schema?: string;
  /** Notable headers, with their descriptions. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One method of one path, as described in the document. */
export interface Operation {
  /** Name of the operation in clients. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With `{id}` etc. for parameters. */
  readonly path: string;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: z.ZodType }>>;
  readonly body?: { readonly types: readonly string[]; readonly schema?: string };
  readonly answers: Readonly<Record<number, Answer>>;
  /** Problem statuses in addition to those that any operation may have. */
  readonly problems?: Readonly<Record<number, string>>;
}

export const JSON_TYPE = 'application/json';

/** A JSON answer of one schema. */
export function json(schema: string, description: string): Answer {
  return { description, type: JSON_TYPE, schema };
}

/** The problem of every operation on one run. */
export const UNKNOWN_RUN = { 404: 'There is no such run.' };

/** Headers of operations that start a run. */
export const IDEMPOTENT: Operation['headers'] & object = {
  'Idempotency-Key': {
    description: 'Repeating a request with the same key and body returns the same run instead of starting another.',
    schema: z.string().min(1).max(255),
  },
};
