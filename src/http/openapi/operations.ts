import { AuditQuery } from '../ops/audit.controller.js';
import { ReadyQuery } from '../ops/health.controller.js';
import { RescoreQuery, runOperations, UPLOAD_TYPES } from '../runs/runs.controller.js';
import { json, JSON_TYPE, type Operation } from '../runs/run-params.js';
import { benchmarkOperations } from '../benchmarks/benchmarks.controller.js';
import { evidenceOperations } from '../runs/evidence.controller.js';
import { rewardOperations } from '../rewards/rewards.controller.js';
import { reportOperations } from '../reports/reports.controller.js';

const health: readonly Operation[] = [
  {
    id: 'live',
    method: 'GET',
    path: '/healthz',
    summary: 'Whether the process answers.',
    answers: { 200: json('Health', 'It does.') },
  },
  {
    id: 'ready',
    method: 'GET',
    path: '/readyz',
    summary: 'Whether the store answers and runs are accepted, what is missing beside it, and what waits.',
    query: ReadyQuery,
    answers: { 200: json('Readiness', 'They are; busy is ready.') },
    problems: {
      422: 'There is no such part to require.',
      503: 'Not now, or a required part is missing.',
      507: 'The machine is required, and low on disk.',
    },
  },
  {
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    summary: 'What the process did and does, for Prometheus.',
    answers: { 200: { description: 'In its text format.', type: 'text/plain' } },
  },
];

const documents: readonly Operation[] = [
  {
    id: 'openApi',
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document.',
    answers: { 200: { description: 'OpenAPI 3.1.', type: JSON_TYPE } },
  },
  {
    id: 'docs',
    method: 'GET',
    path: '/docs',
    summary: 'This document as a page.',
    answers: { 200: { description: 'HTML that loads nothing.', type: 'text/html' } },
  },
];

const audit: Operation = {
  id: 'listAudit',
  method: 'GET',
  path: '/v1/audit',
  summary: 'Who started, cancelled and deleted what, and what was refused, newest first, a page at a time.',
  query: AuditQuery,
  answers: { 200: json('Audit', 'A page.') },
  problems: { 422: 'The limit or the cursor is wrong.' },
};

const rescores: Operation = {
  id: 'rescore',
  method: 'POST',
  path: '/v1/rescores',
  summary: 'Send saved runs of any known format as JSON lines; each instance becomes a run.',
  query: RescoreQuery,
  body: { types: UPLOAD_TYPES },
  answers: { 202: json('RescoreAccepted', 'What became of the upload.') },
  problems: { 422: 'Nothing of it could be read, or it is too large.', 507: 'The disk is low; nothing was taken.' },
};

/** Every route of the service: the document, the answer to wrong methods and the clients come from here. */
export const operations: readonly Operation[] = [
  ...runOperations,
  ...evidenceOperations,
  ...reportOperations,
  ...benchmarkOperations,
  rescores,
  ...rewardOperations,
  audit,
  ...health,
  ...documents,
];
