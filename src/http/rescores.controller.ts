import { Controller, HttpCode, Post, Query, Req } from '@nestjs/common';
import type { Request } from 'express';
import { z } from 'zod';
import { RescoreIntake, type TakenIn } from '../pipeline/rescore-intake.js';
import { Audited } from './audit.js';
import { callerOf } from './guard/caller.js';

/** Types under which saved runs are sent in. */
export const UPLOAD_TYPES = ['application/x-ndjson', 'application/jsonl', 'application/gzip'];

export const RescoreQuery = z.strictObject({
  verifiers: z.string().min(1).max(256).optional(),
  preset: z.string().min(1).max(256).default('deepswe'),
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
  take(@Req() request: Request, @Query({ schema: RescoreQuery }) query: RescoreQuery): Promise<TakenIn> {
    const { verifiers = null, preset, image = null } = query;
    const wish = { verifiers, preset, image, gzip: request.is('application/gzip') !== false };
    return this.intake.take(request, { ...wish, submitter: callerOf(request).key?.name ?? '' });
  }
}
