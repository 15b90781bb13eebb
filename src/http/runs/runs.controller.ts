import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { DEFAULT_PRESET, RunRequest } from '../../core/run/run-request.js';
import { VERIFIER_NAMES } from '../../core/run/verifier.js';
import { type Estimate, estimateAll } from '../../runs/estimate.js';
import { RescoreIntake, RunIntake, type TakenIn, presetsForRuns, RescoreRun } from '../../runs/run-intake.js';
import { RunDependenciesFactory } from '../../runs/run-dependencies.js';
import { RunService } from '../../runs/run-service.js';
import { isGzipUpload, leftBy } from '../guard/bodies.js';
import { callerOf } from '../guard/caller.js';
import { EventStreams, LAST_EVENT_ID } from '../event-streams.js';
import {
  IDEMPOTENT,
  json,
  JSON_TYPE,
  KnownRunId,
  type Operation,
  submissionOf,
  UNKNOWN_RUN,
  listingOf,
  PageQuery,
  type RunAccepted,
  type RunPageView,
  runPageView,
  runView,
  type RunView,
} from './run-views.js';
import { Audited } from '../ops/audit.js';

@Controller('v1/runs')
export class RunsController {
  constructor(
    private readonly runs: RunService,
    private readonly intake: RunIntake,
  ) {}

  @Post()
  @Audited('run.submit')
  @HttpCode(202)
  async submit(
    @Body() body: unknown,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Req() asked: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunAccepted> {
    const run = await this.intake.submit(
      body instanceof Uint8Array && body.length > 0 ? body : null,
      submissionOf(idempotencyKey, asked),
    );
    response.location(`/v1/runs/${run.id}`);
    return run;
  }

  @Get()
  async list(@Query({ schema: PageQuery }) { limit, cursor, ...listing }: PageQuery): Promise<RunPageView> {
    return runPageView(await this.runs.list(limit, cursor ?? null, listingOf(listing)));
  }

  @Get(':id')
  async get(@Param('id', KnownRunId) id: string): Promise<RunView> {
    return runView(await this.runs.overview(id));
  }

  @Delete(':id')
  @Audited('run.delete')
  @HttpCode(204)
  delete(@Param('id', KnownRunId) id: string): Promise<void> {
    return this.runs.delete(id);
  }

  @Post(':id/cancel')
  @Audited('run.cancel')
  @HttpCode(202)
  async cancel(@Param('id', KnownRunId) id: string): Promise<RunAccepted> {
    await this.runs.cancel(id);
    return { id, status: 'cancelled' };
  }
}

export const Choices = z.object({ presets: z.array(z.string()), verifiers: z.array(z.string()) });
export type Choices = z.infer<typeof Choices>;

@Controller('v1')
export class RescoreRunController {
  constructor(
    private readonly intake: RunIntake,
    private readonly dependencies: RunDependenciesFactory,
  ) {}

  /** Valid values of `preset` and `verifiers` in a request. */
  @Get('choices')
  choices(): Choices {
    return { presets: [...presetsForRuns()], verifiers: [...VERIFIER_NAMES, ...this.dependencies.ownVerifiers] };
  }

  /** Estimates the cost of such a run without starting it. */
  @Post('runs/estimate')
  @HttpCode(200)
  estimate(@Body({ schema: RunRequest }) request: RunRequest): Promise<Estimate> {
    return estimateAll([request], this.dependencies);
  }

  /** A new run over the candidates and tests of this one, with another preset or other verifiers. */
  @Post('runs/:id/rescore')
  @Audited('run.rescore')
  @HttpCode(202)
  async again(
    @Param('id', KnownRunId) id: string,
    @Body({ schema: RescoreRun }) change: RescoreRun,
    @Req() asked: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunAccepted> {
    const run = await this.intake.again(id, change, submissionOf(asked.get('idempotency-key'), asked));
    response.location(`/v1/runs/${run.id}`);
    return run;
  }
}

/** Accepted content types for uploads of saved runs. */
export const UPLOAD_TYPES = ['application/x-ndjson', 'application/jsonl', 'application/gzip'];

export const RescoreQuery = z.strictObject({
  verifiers: z.string().min(1).max(2_048).optional(),
  preset: z.string().min(1).max(256).default(DEFAULT_PRESET),
  min_confidence: z.coerce.number().min(0).max(1).optional(),
  image: z.string().min(1).max(512).optional(),
});
export type RescoreQuery = z.infer<typeof RescoreQuery>;

@Controller('v1/rescores')
export class RescoresController {
  constructor(private readonly intake: RescoreIntake) {}

  /** The body is JSON lines in any format that `bestk import` reads; each instance becomes a run under `/v1/runs`. */
  @Post()
  @Audited('rescore.submit')
  @HttpCode(202)
  take(
    @Req() request: Request,
    @Query({ schema: RescoreQuery }) query: RescoreQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TakenIn> {
    const { verifiers = null, preset, min_confidence = null, image = null } = query;
    const wish = { verifiers, rule: { preset, min_confidence }, image, gzip: isGzipUpload(request) };
    return this.intake.take(request, { ...wish, submitter: callerOf(request).key?.name ?? '' }, leftBy(response));
  }
}

/** Operations on runs. */
export const runOperations: readonly Operation[] = [
  {
    id: 'submitRun',
    method: 'POST',
    path: '/v1/runs',
    summary: 'Start a run: sample trajectories or use given candidates, verify and select.',
    headers: IDEMPOTENT,
    body: { types: [JSON_TYPE], schema: 'RunRequest' },
    answers: { 202: { ...json('RunAccepted', 'Accepted.'), headers: { Location: 'URL of the run.' } } },
    problems: { 422: 'The request is invalid, or its idempotency key was used with a different body.' },
  },
  {
    id: 'estimateRun',
    method: 'POST',
    path: '/v1/runs/estimate',
    summary: 'Estimate the model calls, tokens and dollars of a run, without starting it or calling a model.',
    body: { types: [JSON_TYPE], schema: 'RunRequest' },
    answers: { 200: json('Estimate', 'Minimum, likely and maximum, in total and by part.') },
    problems: { 422: 'The request is invalid.' },
  },
  {
    id: 'listRuns',
    method: 'GET',
    path: '/v1/runs',
    summary: 'List runs, newest first unless sorted, paged.',
    query: PageQuery,
    answers: { 200: json('RunPage', 'One page of runs.') },
    problems: { 422: 'Invalid query, limit or cursor.' },
  },
  {
    id: 'getRun',
    method: 'GET',
    path: '/v1/runs/{id}',
    summary: 'Status, progress, selection, statistics and usage of a run.',
    answers: { 200: json('Run', 'The run.') },
    problems: UNKNOWN_RUN,
  },
  {
    id: 'deleteRun',
    method: 'DELETE',
    path: '/v1/runs/{id}',
    summary: 'Delete a run that has ended, with its journal.',
    answers: { 204: { description: 'Deleted.' } },
    problems: { ...UNKNOWN_RUN, 409: 'The run has not ended.' },
  },
  {
    id: 'followRun',
    method: 'GET',
    path: '/v1/runs/{id}/events',
    summary: 'The journal of a run as server-sent events: past events, then new ones, until the run ends.',
    headers: LAST_EVENT_ID,
    answers: {
      200: { description: 'Events with a RunEvent as data.', type: 'text/event-stream', schema: 'RunEvent' },
      204: { description: 'The run has ended and there are no events after this one.' },
    },
    problems: { ...UNKNOWN_RUN, 422: 'Last-Event-ID is not a number.' },
  },
  {
    id: 'getPatch',
    method: 'GET',
    path: '/v1/runs/{id}/patch',
    summary: 'The selected patch, as a unified git diff.',
    answers: { 200: { description: 'The patch.', type: 'text/x-diff' } },
    problems: { 404: 'There is no such run, or it returned no patch.', 409: 'The run has not ended.' },
  },
  {
    id: 'getCandidate',
    method: 'GET',
    path: '/v1/runs/{id}/candidates/{candidate_id}',
    summary: 'One candidate: patch, trajectory, verdicts and its row of the matrix.',
    answers: { 200: json('Candidate', 'The candidate.') },
    problems: { 404: 'There is no such run, or no such candidate in it.' },
  },
  {
    id: 'cancelRun',
    method: 'POST',
    path: '/v1/runs/{id}/cancel',
    summary: 'Stop a run; its containers are removed within 5 s. Idempotent.',
    answers: { 202: json('RunAccepted', 'Cancelled.') },
    problems: { ...UNKNOWN_RUN, 409: 'The run has already ended.' },
  },
];

@Controller('v1/runs')
export class RunEventsController {
  constructor(
    private readonly runs: RunService,
    private readonly streams: EventStreams,
  ) {}

  /** Closes when the run has ended; after its last event, a reconnect is answered with 204, which stops an EventSource. */
  @Get(':id/events')
  follow(@Param('id', KnownRunId) id: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    return this.streams.answer(request, response, {
      isOver: (seq) => this.runs.isOver(id, seq),
      follow: (seq, gone) => this.runs.follow(id, seq, gone),
    });
  }
}
