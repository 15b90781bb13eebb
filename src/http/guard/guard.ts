import type { NextFunction, Request, Response } from 'express';
import type { ApiKey } from '../../core/secrets.js';
import { operations } from '../openapi/operations.js';
import { REPORT_TYPES } from '../reports/reports.controller.js';
import { UPLOAD_TYPES } from '../runs/runs.controller.js';
import { admit, identify, refuseForeignPages, limitRate } from './caller.js';
import { endLeftBodies, limitHeldBodies, requireKnownType, type Uploads } from './bodies.js';
import { noteRefusals, type RefusedRequest } from '../ops/audit.js';

const UPLOADS: Uploads = new Map([
  ['/v1/rescores', UPLOAD_TYPES],
  ['/v1/reports', REPORT_TYPES],
  ['/v1/benchmarks', UPLOAD_TYPES],
]);

/** Told of requests that were not let in. */
type Refused = (request: RefusedRequest) => void;

export interface GuardOptions {
  /** None = everybody on loopback. */
  readonly apiKeys: readonly ApiKey[];
  /** Requests a second of one key, or of one address without; twice that at once. */
  readonly rateLimit: number;
}

type Step = (request: Request, response: Response, next: NextFunction) => void;

/** What a request goes through, in this order, before anything of its body is read. */
export function guard({ apiKeys, rateLimit }: GuardOptions, refused: Refused): readonly Step[] {
  const hasKeys = apiKeys.length > 0;
  return [
    endLeftBodies,
    identify(apiKeys),
    noteRefusals(operations, refused),
    limitRate(rateLimit, hasKeys),
    refuseForeignPages(hasKeys),
    admit(apiKeys),
    requireKnownType(UPLOADS),
    limitHeldBodies(UPLOADS),
  ];
}

const NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Content-Security-Policy of every answer that is no page: data that a browser shows by itself can do nothing. */
const DATA_POLICY = NOTHING;
/** Content-Security-Policy of the viewer's pages: what comes from this service, and nothing inline. */
export const VIEWER_POLICY = `${NOTHING}; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'`;
/** Of the page that shows a report: a frame without scripts and origin inherits the policy, and reports bring their style. */
export const REPORT_POLICY = VIEWER_POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'");

/** What helmet sends, without the headers of browsers that are gone; HSTS is for whoever ends TLS in front. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': DATA_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
};

/** Sets the security headers of an answer; a page replaces the policy by its own. */
export function harden(_request: Request, response: Response, next: NextFunction): void {
  response.removeHeader('X-Powered-By');
  response.set(HEADERS);
  next();
}
