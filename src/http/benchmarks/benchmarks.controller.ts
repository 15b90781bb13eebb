import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Controller, Delete, Get, Header, Headers, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { BenchmarkRun, BenchmarkStatus, BenchmarkSummary } from '../../ports/benchmark-store.js';
import { RunStatus } from '../../ports/run-store.js';
import {
  type BenchmarkAccepted,
  type BenchmarkCurves,
  BenchmarkIntake,
  type BenchmarkPlots,
  BenchmarkReports,
  BenchmarkService,
  type BenchmarkView,
} from '../../runs/benchmark-service.js';
import { isGzipUpload, leftBy } from '../guard/bodies.js';
import { callerOf } from '../guard/caller.js';
import { IDEMPOTENT, json, KnownRunId, type Operation, pageQuery, runKey } from '../runs/run-views.js';
import { Audited } from '../ops/audit.js';
import { PAGE_POLICY } from '../reports/reports.controller.js';
import { EventStreams, LAST_EVENT_ID } from '../event-streams.js';
import { UPLOAD_TYPES } from '../runs/runs.controller.js';

const BenchmarksQuery = z.strictObject(pageQuery(100, 20));
type BenchmarksQuery = z.infer<typeof BenchmarksQuery>;

export const BenchmarksView = z.object({
  benchmarks: z.array(BenchmarkSummary),
  next_cursor: z.string().nullable(),
});
export type BenchmarksView = z.infer<typeof BenchmarksView>;

const BenchmarkRunsQuery = z.strictObject({
  arm: z.string().min(1).max(64).optional(),
  status: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(RunStatus).min(1))
    .optional(),
  ...pageQuery(5_000, 1_000),
});
type BenchmarkRunsQuery = z.infer<typeof BenchmarkRunsQuery>;

export const BenchmarkRunsView = z.object({ runs: z.array(BenchmarkRun), next_cursor: z.string().nullable() });
export type BenchmarkRunsView = z.infer<typeof BenchmarkRunsView>;

const PredictionsQuery = z.strictObject({ arm: z.string().min(1).max(64).optional() });
type PredictionsQuery = z.infer<typeof PredictionsQuery>;

/** The answer to pausing, resuming or cancelling a benchmark. */
export const BenchmarkMoved = z.object({ id: z.string(), status: BenchmarkStatus });
type BenchmarkMoved = z.infer<typeof BenchmarkMoved>;

/** Pass@k and Best@k of its arms. */
export type CurvesOfArms = BenchmarkCurves;

/** The plots of its report. */
export type PlotsOfBenchmark = BenchmarkPlots;

/** State and progress of a benchmark. */
export type BenchmarkStanding = BenchmarkView;

const FORMATS = { 'application/json': 'json', 'text/html': 'html', 'text/csv': 'csv', 'text/plain': 'text' } as const;

const LINES = 'application/x-ndjson';

@Controller('v1/benchmarks')
export class BenchmarksController {
  constructor(
    private readonly benchmarks: BenchmarkService,
    private readonly intake: BenchmarkIntake,
    private readonly reports: BenchmarkReports,
    private readonly streams: EventStreams,
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
    const wish = { key: runKey(idempotencyKey, owner ?? null), gzip: isGzipUpload(request) };
    const accepted = await this.intake.take(request, { ...wish, submitter: owner ?? '' }, leftBy(response));
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

  /** After the last event of an ended benchmark, a reconnect is answered with 204, which stops an EventSource. */
  @Get(':id/events')
  follow(@Param('id', KnownRunId) id: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    return this.streams.answer(request, response, {
      isOver: (seq) => this.benchmarks.isOver(id, seq),
      follow: (_, gone) => this.benchmarks.follow(id, gone),
    });
  }

  /** JSON, or another format that the client prefers. */
  @Get(':id/report')
  @Header('Vary', 'Accept')
  async report(@Param('id', KnownRunId) id: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    const names = Object.keys(FORMATS) as (keyof typeof FORMATS)[];
    const type = names.find((name) => name === request.accepts(names)) ?? 'application/json';
    const report = await this.reports.make(id, FORMATS[type]);
    if (type === 'text/html') response.set('Content-Security-Policy', PAGE_POLICY);
    response.type(type).send(report);
  }

  /** An error after the answer has begun cuts it short, as it is too late for a problem document. */
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

const UNKNOWN = { 404: 'There is no such benchmark.' };

function moving(id: string, verb: 'pause' | 'resume' | 'cancel', summary: string): Operation {
  return {
    id,
    method: 'POST',
    path: `/v1/benchmarks/{id}/${verb}`,
    summary,
    answers: { 202: json('BenchmarkMoved', 'Done.') },
    problems: { ...UNKNOWN, 409: 'Not possible in its status.' },
  };
}

/** Operations on benchmarks: a data set solved by one or more arms. */
export const benchmarkOperations: readonly Operation[] = [
  {
    id: 'submitBenchmark',
    method: 'POST',
    path: '/v1/benchmarks',
    summary:
      'Start a benchmark from JSON lines: the bench file, rows of any known data set, and the arms’ own candidates and tests.',
    headers: IDEMPOTENT,
    body: { types: UPLOAD_TYPES },
    answers: { 202: { ...json('BenchmarkAccepted', 'Accepted.'), headers: { Location: 'URL of the benchmark.' } } },
    problems: {
      422: 'A line is invalid, or the idempotency key was used with a different body.',
      507: 'The disk is low.',
    },
  },
  {
    id: 'listBenchmarks',
    method: 'GET',
    path: '/v1/benchmarks',
    summary: 'List benchmarks, newest first, paged.',
    query: BenchmarksQuery,
    answers: { 200: json('Benchmarks', 'One page of benchmarks.') },
    problems: { 422: 'Invalid limit or cursor.' },
  },
  {
    id: 'getBenchmark',
    method: 'GET',
    path: '/v1/benchmarks/{id}',
    summary: 'State of a benchmark: counts by state and arm, tokens, cost and time left.',
    answers: { 200: json('Benchmark', 'The benchmark.') },
    problems: UNKNOWN,
  },
  {
    id: 'listBenchmarkRuns',
    method: 'GET',
    path: '/v1/benchmarks/{id}/runs',
    summary: 'Its runs in order of creation, paged.',
    query: BenchmarkRunsQuery,
    answers: { 200: json('BenchmarkRuns', 'The runs.') },
    problems: { ...UNKNOWN, 422: 'Invalid query.' },
  },
  {
    id: 'getBenchmarkCurves',
    method: 'GET',
    path: '/v1/benchmarks/{id}/curves',
    summary: 'Pass@k and Best@k of each arm over the candidates graded so far, with intervals.',
    answers: { 200: json('BenchmarkCurves', 'The curves.') },
    problems: UNKNOWN,
  },
  {
    id: 'getBenchmarkPlots',
    method: 'GET',
    path: '/v1/benchmarks/{id}/plots',
    summary: 'The plots of its report so far: drawings, and the numbers behind them.',
    answers: { 200: json('BenchmarkPlots', 'The plots.') },
    problems: UNKNOWN,
  },
  {
    id: 'followBenchmark',
    method: 'GET',
    path: '/v1/benchmarks/{id}/events',
    summary: 'Its state as server-sent events, now and after every change, until it ends.',
    headers: LAST_EVENT_ID,
    answers: {
      200: {
        description: 'Events with a RunEvent as data, which contains a Benchmark.',
        type: 'text/event-stream',
        schema: 'RunEvent',
      },
      204: { description: 'The benchmark has ended and its state has not changed since this event.' },
    },
    problems: { ...UNKNOWN, 422: 'Last-Event-ID is not a number.' },
  },
  {
    id: 'getBenchmarkReport',
    method: 'GET',
    path: '/v1/benchmarks/{id}/report',
    summary:
      'Its report so far: JSON, or with `Accept: text/html` a page, with `text/csv` a line for each issue and arm, with `text/plain` a summary.',
    answers: {
      200: { ...json('BenchmarkReport', 'The report.'), others: ['text/html', 'text/csv', 'text/plain'] },
    },
    problems: UNKNOWN,
  },
  {
    id: 'getBenchmarkPredictions',
    method: 'GET',
    path: '/v1/benchmarks/{id}/predictions',
    summary: 'The selected patches of an arm, the first without `arm`, as predictions for SWE-bench’s harness.',
    query: PredictionsQuery,
    answers: { 200: { description: 'A line for each finished issue.', type: LINES } },
    problems: { ...UNKNOWN, 422: 'There is no such arm.' },
  },
  moving('pauseBenchmark', 'pause', 'Start no more runs; runs in progress finish. Idempotent.'),
  moving('resumeBenchmark', 'resume', 'Continue, and retry runs that failed or were cancelled.'),
  moving('cancelBenchmark', 'cancel', 'Stop the benchmark and all its runs. Idempotent.'),
  {
    id: 'deleteBenchmark',
    method: 'DELETE',
    path: '/v1/benchmarks/{id}',
    summary: 'Delete a benchmark that has ended, with its runs.',
    answers: { 204: { description: 'Deleted.' } },
    problems: { ...UNKNOWN, 409: 'The benchmark has not ended.' },
  },
];
