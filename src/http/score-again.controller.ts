import { Body, Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { VerifierName } from '../core/verifier-name.js';
import { presetsForRuns } from '../pipeline/preset-choices.js';
import { RunService } from '../pipeline/run-service.js';
import { ScoreAgain, scoreAgain } from '../pipeline/score-again.js';
import { RunRequest } from '../core/run-request.js';
import { InvalidRequestError } from './invalid-request.js';
import { Audited } from './audit.js';
import { callerOf } from './guard/caller.js';
import { KnownRunId } from './run-id.js';
import { runKey } from './run-key.js';
import { type RunAccepted } from './run-views.js';

export const Choices = z.object({ presets: z.array(z.string()), verifiers: z.array(z.string()) });
export type Choices = z.infer<typeof Choices>;

@Controller('v1')
export class ScoreAgainController {
  constructor(private readonly runs: RunService) {}

  /** What `preset` and `verifiers` of a request may say. */
  @Get('choices')
  choices(): Choices {
    return { presets: [...presetsForRuns()], verifiers: [...VerifierName.options] };
  }

  /** A new run over the candidates and tests of this one, with another preset or other verifiers. */
  @Post('runs/:id/rescore')
  @Audited('run.rescore')
  @HttpCode(202)
  async again(
    @Param('id', KnownRunId) id: string,
    @Body({ schema: ScoreAgain }) change: ScoreAgain,
    @Req() asked: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<RunAccepted> {
    const idempotencyKey = asked.get('idempotency-key');
    const request = RunRequest.safeParse(scoreAgain(await this.runs.get(id), change));
    if (!request.success) throw new InvalidRequestError(request.error.issues);
    const owner = callerOf(asked).key?.name;
    const run = await this.runs.submit(runKey(idempotencyKey, owner ?? null), request.data, owner);
    response.location(`/v1/runs/${run.id}`);
    return { id: run.id, status: run.status };
  }
}
