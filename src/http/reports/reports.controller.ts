import { Controller, Get, Header, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { identifier } from '../../core/identifier.js';
import { RunNotFoundError } from '../../core/errors/errors.js';
import { type ReportMade, ReportMaker } from '../../runs/run-intake.js';
import { ReportStore, ReportSummary } from '../../ports/benchmark-store.js';
import { isGzipUpload, leftBy } from '../guard/bodies.js';
import { json, type Operation, pageQuery, RunId } from '../runs/run-views.js';
import { Audited } from '../ops/audit.js';

/** Policy of a report's page, which contains its styles and drawings and nothing else. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Accepted content types for uploads of runs and labels. */
export const REPORT_TYPES = ['application/x-ndjson', 'application/jsonl'];

const ReportQuery = z.strictObject({
  title: identifier(256).default('Benchmark report'),
  presets: z.string().min(1).max(512).optional(),
});
type ReportQuery = z.infer<typeof ReportQuery>;

const ReportsQuery = z.strictObject(pageQuery(100, 20));
type ReportsQuery = z.infer<typeof ReportsQuery>;

export const ReportsView = z.object({ reports: z.array(ReportSummary), next_cursor: z.string().nullable() });
export type ReportsView = z.infer<typeof ReportsView>;

@Controller('v1/reports')
export class ReportsController {
  constructor(
    private readonly maker: ReportMaker,
    private readonly store: ReportStore,
  ) {}

  @Post()
  @Audited('report.make')
  @HttpCode(201)
  async make(
    @Req() request: Request,
    @Query({ schema: ReportQuery }) { title, presets }: ReportQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ReportMade> {
    const made = await this.maker.make(
      request,
      { title, presets: presets ?? null, gzip: isGzipUpload(request) },
      leftBy(response),
    );
    response.location(`/v1/reports/${made.id}`);
    return made;
  }

  @Get()
  async list(@Query({ schema: ReportsQuery }) { limit, cursor }: ReportsQuery): Promise<ReportsView> {
    const { reports, next } = await this.store.list(limit, cursor ?? null);
    return { reports: [...reports], next_cursor: next };
  }

  /** JSON, or the page if the client prefers HTML. */
  @Get(':id')
  @Header('Vary', 'Accept')
  async get(@Param('id') id: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    const report = RunId.safeParse(id).success ? await this.store.get(id) : null;
    if (report === null)
      throw new RunNotFoundError('There is no report with this id.', 'List the reports to see which exist.');
    const wantsPage = request.accepts(['application/json', 'text/html']) === 'text/html';
    if (wantsPage) response.set('Content-Security-Policy', PAGE_POLICY).type('text/html').send(report.page);
    else response.type('application/json').send(report.document);
  }
}

/** Benchmark reports of stored runs. */
export const reportOperations: readonly Operation[] = [
  {
    id: 'makeReport',
    method: 'POST',
    path: '/v1/reports',
    summary: 'Make a benchmark report of finished runs, from JSON lines with run ids and labels.',
    query: ReportQuery,
    body: { types: REPORT_TYPES },
    answers: { 201: { ...json('ReportMade', 'Created.'), headers: { Location: 'URL of the report.' } } },
    problems: { 404: 'There is no such run.', 409: 'A run has not finished.', 422: 'A line is invalid.' },
  },
  {
    id: 'listReports',
    method: 'GET',
    path: '/v1/reports',
    summary: 'List reports, newest first, paged.',
    query: ReportsQuery,
    answers: { 200: json('Reports', 'One page of reports.') },
    problems: { 422: 'Invalid limit or cursor.' },
  },
  {
    id: 'getReport',
    method: 'GET',
    path: '/v1/reports/{id}',
    summary: 'A report as JSON, or with `Accept: text/html` as a self-contained page.',
    answers: { 200: { ...json('Report', 'The report.'), others: ['text/html'] } },
    problems: { 404: 'There is no such report.' },
  },
];
