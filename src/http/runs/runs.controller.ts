import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { RunIntake } from '../../runs/run-intake.js';
import { RunService } from '../../runs/run-service.js';
import { Audited } from '../ops/audit.js';
import { KnownRunId } from './run-params.js';
import { listingOf } from './run-page.js';
import { submissionOf } from './run-params.js';
import { PageQuery, type RunPageView, runPageView } from './run-page.js';
import { type RunAccepted, runView, type RunView } from './run-views.js';

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
