import { IDEMPOTENT, json, JSON_TYPE, type Operation } from '../openapi/operation.js';
import { UPLOAD_TYPES } from '../runs/rescore.controller.js';
import { LAST_EVENT_ID } from '../runs/run-operations.js';
import { BenchmarkRunsQuery, BenchmarksQuery, LINES, PredictionsQuery } from './benchmarks.controller.js';

const UNKNOWN = { 404: 'There is no such benchmark.' };

function moving(id: string, verb: 'pause' | 'resume' | 'cancel', summary: string): Operation {
  return {
    id,
    method: 'POST',
    path: `/v1/benchmarks/{id}/${verb}`,
    summary,
    answers: { 202: json('BenchmarkMoved', 'It is so now.') },
    problems: { ...UNKNOWN, 409: 'Its status does not allow it.' },
  };
}

/** What can be asked of benchmarks: a data set, solved in one or more ways, as one thing. */
export const benchmarkOperations: readonly Operation[] = [
  {
    id: 'submitBenchmark',
    method: 'POST',
    path: '/v1/benchmarks',
    summary:
      'Start a benchmark, from lines: the bench file, rows of any known data set, candidates and tests that arms have of their own.',
    headers: IDEMPOTENT,
    body: { types: UPLOAD_TYPES },
    answers: { 202: { ...json('BenchmarkAccepted', 'Accepted.'), headers: { Location: 'Where the benchmark is.' } } },
    problems: { 422: 'A line says what cannot be done, or the key was used for another one.', 507: 'Low on disk.' },
  },
  {
    id: 'listBenchmarks',
    method: 'GET',
    path: '/v1/benchmarks',
    summary: 'Benchmarks, newest first, a page at a time.',
    query: BenchmarksQuery,
    answers: { 200: json('Benchmarks', 'A page.') },
    problems: { 422: 'The limit or the cursor is wrong.' },
  },
  {
    id: 'getBenchmark',
    method: 'GET',
    path: '/v1/benchmarks/{id}',
    summary: 'How a benchmark stands: counts by state and arm, tokens, money and how long it still takes.',
    answers: { 200: json('Benchmark', 'The benchmark.') },
    problems: UNKNOWN,
  },
  {
    id: 'listBenchmarkRuns',
    method: 'GET',
    path: '/v1/benchmarks/{id}/runs',
    summary: 'Its runs, a page at a time, in the order they were made.',
    query: BenchmarkRunsQuery,
    answers: { 200: json('BenchmarkRuns', 'The runs.') },
    problems: { ...UNKNOWN, 422: 'The query says what cannot be.' },
  },
  {
    id: 'getBenchmarkCurves',
    method: 'GET',
    path: '/v1/benchmarks/{id}/curves',
    summary: 'Pass@k and Best@k of each arm over what is graded so far, with intervals.',
    answers: { 200: json('BenchmarkCurves', 'The curves.') },
    problems: UNKNOWN,
  },
  {
    id: 'getBenchmarkPlots',
    method: 'GET',
    path: '/v1/benchmarks/{id}/plots',
    summary: 'The plots of its report as far as it is: drawings, and the numbers behind them.',
    answers: { 200: json('BenchmarkPlots', 'The plots.') },
    problems: UNKNOWN,
  },
  {
    id: 'followBenchmark',
    method: 'GET',
    path: '/v1/benchmarks/{id}/events',
    summary: 'How it stands as server-sent events, now and whenever that changes, until it has ended.',
    headers: LAST_EVENT_ID,
    answers: {
      200: {
        description: 'Events; the data of each is a RunEvent with a Benchmark.',
        type: 'text/event-stream',
        schema: 'RunEvent',
      },
      204: { description: 'It has ended, and stands as in that event.' },
    },
    problems: { ...UNKNOWN, 422: 'Last-Event-ID is no number.' },
  },
  {
    id: 'getBenchmarkReport',
    method: 'GET',
    path: '/v1/benchmarks/{id}/report',
    summary:
      'Its report as far as it is: JSON, or with `Accept: text/html` a page, with `text/csv` a line for each issue and arm, with `text/plain` a summary.',
    answers: { 200: { description: 'The report.', type: JSON_TYPE, schema: 'BenchmarkReport' } },
    problems: UNKNOWN,
  },
  {
    id: 'getBenchmarkPredictions',
    method: 'GET',
    path: '/v1/benchmarks/{id}/predictions',
    summary: 'The selected patches of an arm, the first without `arm`, as predictions for SWE-bench’s harness.',
    query: PredictionsQuery,
    answers: { 200: { description: 'A line for each issue that is done.', type: LINES } },
    problems: { ...UNKNOWN, 422: 'It has no such arm.' },
  },
  moving('pauseBenchmark', 'pause', 'Begin nothing more; what is under way ends. Twice is harmless.'),
  moving('resumeBenchmark', 'resume', 'Go on, and do again what failed or was cancelled.'),
  moving('cancelBenchmark', 'cancel', 'Stop it with all its runs. Twice is harmless.'),
  {
    id: 'deleteBenchmark',
    method: 'DELETE',
    path: '/v1/benchmarks/{id}',
    summary: 'Delete a benchmark that has ended, with its runs.',
    answers: { 204: { description: 'It is gone.' } },
    problems: { ...UNKNOWN, 409: 'It has not ended.' },
  },
];
