import { z } from 'zod';
import { isTooDeep, shapeOf, TOO_DEEP } from '../core/json.js';
import { RunNotFoundError, RunConflictError } from '../core/errors/errors.js';
import { GivenRule, RunRequest } from '../core/run/run-request.js';
import { ReportSummary } from '../ports/benchmark-store.js';
import type { Acceptance, RunStatus, RunStore, Run } from '../ports/run-store.js';
import { checkRequest, type RunChecks } from './check-request.js';
import { PRESET_NAMES } from '../../verifiers/hybrid/presets.js';
import { candidateOf } from '../core/run/rollout.js';
import { RunResult } from '../core/run/run-result.js';
import { VerifierName } from '../core/run/verifier.js';

/** Enough for a thousand candidates with a hundred steps each. */
const MAX_VALUES = 500_000;
/** For larger requests only the first problem is reported: recording all would cost megabytes and seconds. */
const MOST_NAMED = 100_000;
const AT_THE_FIRST: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

/** Why a request is refused. */
export interface Refusal {
  readonly status: 400 | 413 | 422;
  readonly message: string;
  readonly issues: readonly Pick<z.core.$ZodIssue, 'message' | 'path'>[];
}

export class RefusedRequestError extends Error {
  constructor(readonly refusal: Refusal) {
    super(refusal.message);
  }
}

/** Submitter and key of a request; see `RunStore.create`. */
export interface Submission {
  readonly key: string;
  readonly submitter: string;
}

/** A submitted run. */
export interface AcceptedRun {
  readonly id: string;
  readonly status: RunStatus;
}

/**
 * Accepts requests for runs as raw bodies: reading, checking, hashing and writing megabytes takes seconds, during which the
 * service must answer other requests. Bound in the composition root.
 */
export abstract class RunIntake {
  /**
   * @param body JSON; null = there was none
   * @throws RefusedRequestError, BadInputError for a request that cannot be executed or a key of another request
   */
  abstract submit(body: Uint8Array | null, how: Submission): Promise<AcceptedRun>;
  /** Starts a run over the candidates and tests of another. @throws like `submit`, RunNotFoundError, RunConflictError */
  abstract again(id: string, change: RescoreRun, how: Submission): Promise<AcceptedRun>;
}

/** Accepts runs under a service's settings. */
export type Accept = (key: string, request: RunRequest, how: Omit<Acceptance, 'setup'>) => Promise<AcceptedRun>;

/** Writes accepted runs into the store; submitting their jobs is left to the caller. */
export function acceptInto(store: Pick<RunStore, 'create'>, checks: RunChecks, setup: string): Accept {
  return async (key, request, how) => {
    checkRequest(request, checks);
    const { id, status } = (await store.create(key, request, { ...how, setup })).run;
    return { id, status };
  };
}

/** Reads requests in the calling thread. */
export class PlainRunIntake extends RunIntake {
  constructor(
    private readonly accept: Accept,
    private readonly runs: Pick<RunStore, 'get'>,
  ) {
    super();
  }

  override async submit(body: Uint8Array | null, { key, submitter }: Submission): Promise<AcceptedRun> {
    const { id, status } = await this.accept(key, read(body === null ? undefined : jsonOf(body)), { submitter });
    return { id, status };
  }

  override async again(id: string, change: RescoreRun, { key, submitter }: Submission): Promise<AcceptedRun> {
    const run = await this.runs.get(id);
    if (run === null) throw RunNotFoundError.forRun(id);
    const { id: again, status } = await this.accept(key, read(rescoreRun(run, change)), { submitter });
    return { id: again, status };
  }
}

/** @throws RefusedRequestError, also for invalid UTF-8: a patch must not be altered silently */
function jsonOf(body: Uint8Array): unknown {
  const refuse = (status: Refusal['status'], message: string): never => {
    throw new RefusedRequestError({ status, message, issues: [] });
  };
  const shape = shapeOf(body);
  if (isTooDeep(shape)) refuse(400, `The body ${TOO_DEEP}.`);
  if (shape.values > MAX_VALUES) refuse(413, `The body has more than ${MAX_VALUES} values.`);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return refuse(400, `The body is not JSON: ${error.message}`);
    return refuse(400, 'The body is not valid UTF-8.');
  }
}

/** @throws RefusedRequestError */
function read(value: unknown): RunRequest {
  const isLarge = holdsMoreThan(MOST_NAMED, value);
  const parsed = RunRequest.safeParse(value, isLarge ? AT_THE_FIRST : undefined);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, isLarge ? 1 : undefined).map(({ message, path }) => ({ message, path }));
  throw new RefusedRequestError({ status: 422, message: 'The request does not fit its schema.', issues });
}

function holdsMoreThan(most: number, value: unknown): boolean {
  const open = [value];
  for (let count = 1; open.length > 0;) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    const members = Object.values(next) as unknown[];
    count += members.length;
    if (count > most) return true;
    for (const member of members) open.push(member);
  }
  return false;
}

/** How uploaded runs are to be scored. */
export interface RescoreWish {
  /** Null = what settings and image allow. */
  readonly verifiers: string | null;
  readonly rule: GivenRule;
  /** Container image; `{instance_id}` is replaced. Null = unknown. */
  readonly image: string | null;
  /** Whether the upload is compressed. */
  readonly gzip: boolean;
  /** See `RunStore.create`. */
  readonly submitter: string;
}

/** Result of an upload: a run per instance, and what was skipped or rejected. */
export const TakenIn = z.object({
  candidates: z.int(),
  runs: z.array(z.object({ instance_id: z.string(), id: z.string() })),
  skipped: z.array(z.object({ instance_id: z.string(), reason: z.string() })),
  rejected: z
    .object({ count: z.int(), first: z.array(z.object({ line: z.int().nullable(), reason: z.string() })) })
    .describe('Unreadable records; the first ones with line and reason.'),
});
export type TakenIn = z.infer<typeof TakenIn>;

/** Accepts saved runs in any known format and starts a run for each instance. Bound in the composition root. */
export abstract class RescoreIntake {
  /**
   * @param upload JSON lines, read once as a stream
   * @param left aborts when the client no longer waits for the answer
   * @throws BadInputError if nothing could be read or the upload is too large, MachineLowError
   */
  abstract take(upload: AsyncIterable<Uint8Array>, wish: RescoreWish, left: AbortSignal): Promise<TakenIn>;
}

/** Parameters of a report besides its runs and labels. */
export interface ReportWish {
  readonly title: string;
  /** Names separated by commas, or `all`; null = every preset with scores. */
  readonly presets: string | null;
  /** Whether the upload is compressed. */
  readonly gzip: boolean;
}

export const ReportMade = ReportSummary.pick({ id: true, title: true }).extend({
  runs: z.int(),
  /** Issues of these runs with a label. */
  labelled: z.int(),
  unknown_labels: z.int().describe('Candidates of these issues without a known label, excluded from every rate.'),
  notes: z.array(z.string()).describe('What to know about the labels sent.'),
});
export type ReportMade = z.infer<typeof ReportMade>;

/** Makes and stores the benchmark report of stored runs. Bound in the composition root. */
export abstract class ReportMaker {
  /**
   * @param upload JSON lines, read once: `{"run_id"}`, `{"against"}` (the id of a run to compare with), and labels
   * `{"instance_id", "candidate_id", "resolved", "reason"?}`
   * @param left aborts when the client no longer waits for the answer
   * @throws BadInputError naming the line, RunNotFoundError, RunConflictError for a run that is not done
   */
  abstract make(upload: AsyncIterable<Uint8Array>, wish: ReportWish, left: AbortSignal): Promise<ReportMade>;
}

/** Changes for another run over the same candidates and tests; absent fields keep their values. */
export const RescoreRun = z.strictObject({
  ...GivenRule.partial().shape,
  verifiers: z.array(VerifierName).min(1).optional(),
});
export type RescoreRun = z.infer<typeof RescoreRun>;

/**
 * A request that verifies and selects again among the candidates of a run, with its tests; earlier executions are reused from
 * the store. Budgets are not taken over.
 * @throws RunConflictError if the run has no candidates (yet)
 */
export function rescoreRun(run: Run, change: RescoreRun): Run['request'] {
  const { issue, preset, stages, combiner, calibration, min_confidence, verifiers, ...request } = RunRequest.parse(
    run.request,
  );
  const rule = { combiner, calibration, min_confidence, ...(change.preset === undefined ? { preset, stages } : {}) };
  const result = run.result === null ? null : RunResult.parse(run.result);
  const candidates = request.candidates ?? result?.rollouts.map(candidateOf) ?? [];
  if (candidates.length === 0) {
    throw new RunConflictError(
      `Run "${run.id}" has no candidates to score.`,
      'Wait until it is done, or start a new run of the same issue.',
    );
  }
  const tests = request.tests ?? writtenFor(result);
  return z.json().parse({ issue, candidates, tests, ...rule, verifiers, ...change });
}

/** Null if there are none, so that tests are written again. */
function writtenFor(result: RunResult | null): RunResult['tests'] | null {
  return result === null || result.tests.length === 0 ? null : result.tests;
}

/** Names of selection rules that need only verdicts; `learned` also needs a combiner. */
export function presetsForRuns(): readonly string[] {
  return PRESET_NAMES.filter((name) => name !== 'learned');
}
