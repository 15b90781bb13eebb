import { ReportQuery, ReportsQuery, REPORT_TYPES } from './reports.controller.js';
import { json, JSON_TYPE, type Operation } from '../openapi/operation.js';

/** Benchmark reports of stored runs. */
export const reportOperations: readonly Operation[] = [
  {
    id: 'makeReport',
    method: 'POST',
    path: '/v1/reports',
    summary: 'Make the benchmark report of runs that are done, from lines that name runs and labels.',
    query: ReportQuery,
    body: { types: REPORT_TYPES },
    answers: { 201: { ...json('ReportMade', 'It is made.'), headers: { Location: 'Where the report is.' } } },
    problems: { 404: 'There is no such run.', 409: 'A run is not done.', 422: 'A line says what cannot be.' },
  },
  {
    id: 'listReports',
    method: 'GET',
    path: '/v1/reports',
    summary: 'Reports, newest first, a page at a time.',
    query: ReportsQuery,
    answers: { 200: json('Reports', 'A page.') },
    problems: { 422: 'The limit or the cursor is wrong.' },
  },
  {
    id: 'getReport',
    method: 'GET',
    path: '/v1/reports/{id}',
    summary: 'A report: JSON, or with `Accept: text/html` one page that loads nothing.',
    answers: { 200: { description: 'The report.', type: JSON_TYPE, schema: 'Report' } },
    problems: { 404: 'There is no such report.' },
  },
];
