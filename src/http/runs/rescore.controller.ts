import { Body, Controller, Get, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { DEFAULT_PRESET } from '../../core/run/run-request.js';
import { VERIFIER_NAMES } from '../../core/run/verifier.js';
import { RescoreIntake, type TakenIn } from '../../runs/rescore-intake.js';
import { presetsForRuns, RescoreRun } from '../../runs/rescore-run.js';
import { RunIntake } from '../../runs/run-intake.js';
import { callerOf } from '../guard/caller.js';
import { Audited } from '../ops/audit.js';
import { KnownRunId, submissionOf } from './run-params.js';
import type { RunAccepted } from './run-views.js';

export const Choices = z.object({ presets: z.array(z.string()), verifiers: z.array(z.string()) });
export type Choices = z.infer<typeof Choices>;

@Controller('v1')
export class RescoreRunController {
  constructor(private readonly intake: RunIntake) {}

  /** What `preset` and `verifiers` of a request may say. */
  @Get('choices')
  choices(): Choices {
    return { presets: [...presetsForRuns()], verifiers: [...VERIFIER_NAMES] };
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

/** Types under which saved runs are sent in. */
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

  /** The body is JSON lines of any format that `bestk import` reads; each instance becomes a run under `/v1/runs`. */
  @Post()
  @Audited('rescore.submit')
  @HttpCode(202)
  take(
    @Req() request: Request,
    @Query({ schema: RescoreQuery }) query: RescoreQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<TakenIn> {
    const { verifiers = null, preset, min_confidence = null, image = null } = query;
    const wish = { verifiers, rule: { preset, min_confidence }, image, gzip: request.is('application/gzip') !== false };
    const left = new AbortController();
    response.once('close', () => {
      left.abort(new BadInputError('was left by its client.', { field: 'body' }));
    });
    return this.intake.take(request, { ...wish, submitter: callerOf(request).key?.name ?? '' }, left.signal);
  }
}
