import { Controller, Get, Query, Res } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import { Exposition } from '../../ports/telemetry.js';
import { PARTS, QueueGauges, Readiness, type ReadyReport } from '../../runs/readiness.js';

/** `?require=engine,models`: parts that must be present; otherwise the answer is 503. */
export const ReadyQuery = z.strictObject({
  require: z
    .string()
    .default('')
    .transform((text) => text.split(',').filter((part) => part !== ''))
    .pipe(z.array(z.enum(PARTS))),
});
type ReadyQuery = z.infer<typeof ReadyQuery>;

@Controller()
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** Whether the process answers. */
  @Get('healthz')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** Whether the store answers and runs are accepted; a busy service is ready. */
  @Get('readyz')
  ready(@Query({ schema: ReadyQuery }) { require }: ReadyQuery): Promise<ReadyReport> {
    return this.readiness.report(require);
  }
}

@Controller('metrics')
export class MetricsController {
  constructor(
    private readonly queue: QueueGauges,
    private readonly exposition: Exposition,
  ) {}

  /** Metrics in Prometheus's text format; available even if the store is not. */
  @Get()
  async metrics(@Res() response: Response): Promise<void> {
    await this.queue.measure();
    const text = await this.exposition.text();
    response.status(200).setHeader('Content-Type', this.exposition.contentType);
    response.end(text);
  }
}
