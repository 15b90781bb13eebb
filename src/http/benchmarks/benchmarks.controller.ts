import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Controller, Delete, Get, Header, Headers, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { BenchmarkRun, BenchmarkStatus, BenchmarkSummary } from '../../ports/benchmark-store.js';
import { RunStatus } from '../../ports/run-store.js';
import { type BenchmarkAccepted, BenchmarkIntake, BenchmarkReports } from '../../runs/benchmark-intake.js';
import {
  type BenchmarkCurves,
  type BenchmarkPlots,
  BenchmarkService,
  type BenchmarkView,
} from '../../runs/benchmark-service.js';
import { callerOf } from '../guard/caller.js';
import { Audited } from '../ops/audit.js';
import { PAGE_POLICY } from '../reports/reports.controller.js';
import { EVENT_STREAM, sendEvents, seqOf } from '../runs/run-events.controller.js';
import { KnownRunId, RunId, runKey } from '../runs/run-params.js';

const HEARTBEAT_MS = 15_000;
const MAX_LIMIT = 100;
const MOST_RUNS = 5_000;

export const BenchmarksQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(20),
  cursor: RunId.optional(),
});
type BenchmarksQuery = z.infer<typeof BenchmarksQuery>;

export const BenchmarksView = z.object({
  benchmarks: z.array(BenchmarkSummary),
  next_cursor: z.string().nullable(),
});
export type BenchmarksView = z.infer<typeof BenchmarksView>;

export const BenchmarkRunsQuery = z.strictObject({
  arm: z.string().min(1).max(64).optional(),
  status: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(RunStatus).min(1))
    .optional(),
  limit: z.coerce.number().int().min(1).max(MOST_RUNS).default(1_000),
  cursor: RunId.optional(),
});
type BenchmarkRunsQuery = z.infer<typeof BenchmarkRunsQuery>;

export const BenchmarkRunsView = z.object({ runs: z.array(BenchmarkRun), next_cursor: z.string().nullable() });
export type BenchmarkRunsView = z.infer<typeof BenchmarkRunsView>;

export const PredictionsQuery = z.strictObject({ arm: z.string().min(1).max(64).optional() });
type PredictionsQuery = z.infer<typeof PredictionsQuery>;

/** The answer to what stops a benchmark or has it go on. */
export const BenchmarkMoved = z.object({ id: z.string(), status: BenchmarkStatus });
type BenchmarkMoved = z.infer<typeof BenchmarkMoved>;

/** What its arms come to by k. */
export type CurvesOfArms = BenchmarkCurves;

/** The plots of its report. */
export type PlotsOfBenchmark = BenchmarkPlots;

/** How a benchmark stands. */
export type BenchmarkStanding = BenchmarkView;

const FORMATS = { 'application/json': 'json', 'text/html': 'html', 'text/csv': 'csv', 'text/plain': 'text' } as const;

export const LINES = 'application/x-ndjson';

@Controller('v1/benchmarks')
export class BenchmarksController {
  constructor(
    private readonly benchmarks: BenchmarkService,
    private readonly intake: BenchmarkIntake,
    private readonly reports: BenchmarkReports,
  ) {}

  @Post()
  @Audited('benchmark.submit')
  @HttpCode(202)
  async take(
    @Req() request: Request,
    @Headers('idempotency-key') idempotencyKey: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<BenchmarkAccepted> {
    const owner = callerOf(request).key?.name;
    const left = new AbortController();
    response.once('close', () => {
      left.abort(new BadInputError('was left by its client.', { field: 'body' }));
    });
    const wish = { key: runKey(idempotencyKey, owner ?? null), gzip: request.is('application/gzip') !== false };
    const accepted = await this.intake.take(request, { ...wish, submitter: owner ?? '' }, left.signal);
    response.location(`/v1/benchmarks/${accepted.id}`);
    return accepted;
  }

  @Get()
  async list(@Query({ schema: BenchmarksQuery }) { limit, cursor }: BenchmarksQuery): Promise<BenchmarksView> {
    const { benchmarks, next } = await this.benchmarks.list(limit, cursor ?? null);
    return { benchmarks: [...benchmarks], next_cursor: next };
  }

  @Get(':id')
  get(@Param('id', KnownRunId) id: string): Promise<BenchmarkView> {
    return this.benchmarks.get(id);
  }

  @Get(':id/runs')
  async runs(
    @Param('id', KnownRunId) id: string,
    @Query({ schema: BenchmarkRunsQuery }) { arm, status, limit, cursor }: BenchmarkRunsQuery,
  ): Promise<BenchmarkRunsView> {
    const listing = { arm, statuses: status, after: cursor, limit: limit + 1 };
    const found = await this.benchmarks.runsOf(id, listing);
    const runs = found.slice(0, limit);
    return { runs, next_cursor: found.length > limit ? (runs.at(-1)?.id ?? null) : null };
  }

  @Get(':id/curves')
  curves(@Param('id', KnownRunId) id: string): Promise<BenchmarkCurves> {
    return this.reports.curves(id);
  }

  @Get(':id/plots')
  async plots(@Param('id', KnownRunId) id: string, @Res() response: Response): Promise<void> {
    response.type('application/json').send(await this.reports.plots(id));
  }

  /** Asked again after the last event of one that has ended, answers 204, which ends an EventSource. */
  @Get(':id/events')
  async follow(
    @Param('id', KnownRunId) id: string,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() { method }: Request,
    @Res() response: Response,
  ): Promise<void> {
    if (await this.benchmarks.isOver(id, seqOf(lastEventId))) {
      response.status(204).end();
      return;
    }
    if (method === 'HEAD') {
      response.set('Content-Type', EVENT_STREAM).end();
      return;
    }
    const gone = new AbortController();
    response.once('close', () => {
      gone.abort();
    });
    await sendEvents(response, this.benchmarks.follow(id, gone.signal), HEARTBEAT_MS);
  }

  /** JSON, or what else a client would rather have. */
  @Get(':id/report')
  @Header('Vary', 'Accept')
  async report(@Param('id', KnownRunId) id: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    const names = Object.keys(FORMATS) as (keyof typeof FORMATS)[];
    const type = names.find((name) => name === request.accepts(names)) ?? 'application/json';
    const report = await this.reports.make(id, FORMATS[type]);
    if (type === 'text/html') response.set('Content-Security-Policy', PAGE_POLICY);
    response.type(type).send(report);
  }

  /** What comes too late for a problem cuts the answer short. */
  @Get(':id/predictions')
  async predictions(
    @Param('id', KnownRunId) id: string,
    @Query({ schema: PredictionsQuery }) { arm }: PredictionsQuery,
    @Res() response: Response,
  ): Promise<void> {
    const lines = await this.reports.predictions(id, arm);
    response.type(LINES);
    await pipeline(Readable.from(lines), response);
  }

  @Post(':id/pause')
  @Audited('benchmark.pause')
  @HttpCode(202)
  async pause(@Param('id', KnownRunId) id: string): Promise<BenchmarkMoved> {
    return { id, status: await this.benchmarks.pause(id) };
  }

  @Post(':id/resume')
  @Audited('benchmark.resume')
  @HttpCode(202)
  async resume(@Param('id', KnownRunId) id: string): Promise<BenchmarkMoved> {
    return { id, status: await this.benchmarks.resume(id) };
  }

  @Post(':id/cancel')
  @Audited('benchmark.cancel')
  @HttpCode(202)
  async cancel(@Param('id', KnownRunId) id: string): Promise<BenchmarkMoved> {
    return { id, status: await this.benchmarks.cancel(id) };
  }

  @Delete(':id')
  @Audited('benchmark.delete')
  @HttpCode(204)
  delete(@Param('id', KnownRunId) id: string): Promise<void> {
    return this.benchmarks.delete(id);
  }
}
