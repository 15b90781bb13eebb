import type { NextFunction, Request, Response } from 'express';
import type { ApiKey } from '../../core/secrets.js';
import { operations } from '../openapi/operations.js';
import { REPORT_TYPES } from '../reports/reports.controller.js';
import { UPLOAD_TYPES } from '../runs/runs.controller.js';
import { admit, identify, refuseForeignPages, limitRate } from './caller.js';
import { endLeftBodies, limitHeldBodies, refuseCompressedBodies, requireKnownType, type Uploads } from './bodies.js';
import { noteRefusals, type RefusedRequest } from '../ops/audit.js';

const UPLOADS: Uploads = new Map([
  ['/v1/rescores', UPLOAD_TYPES],
  ['/v1/reports', REPORT_TYPES],
  ['/v1/benchmarks', UPLOAD_TYPES],
]);

/** Called for each request that was not admitted. */
type Refused = (request: RefusedRequest) => void;

export interface GuardOptions {
  /** Empty = no key needed, loopback only. */
  readonly apiKeys: readonly ApiKey[];
  /** Requests per second for a key, or for an address without one; twice that in a burst. */
  readonly rateLimit: number;
}

type Step = (request: Request, response: Response, next: NextFunction) => void;

/** The checks that a request passes, in this order, before its body is read. */
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
    refuseCompressedBodies(UPLOADS),
    limitHeldBodies(UPLOADS),
  ];
}

const NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Content-Security-Policy of every answer that is not a page: data shown directly by a browser can do nothing. */
const DATA_POLICY = NOTHING;
/** Content-Security-Policy of the viewer's pages: only resources of this service, nothing inline. */
export const VIEWER_POLICY = `${NOTHING}; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'`;
/** For the page that shows a report: its sandboxed frame inherits the policy, and reports have inline styles. */
export const REPORT_POLICY = VIEWER_POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'");

/** The headers that helmet sends, except those for obsolete browsers; HSTS is left to the proxy that terminates TLS. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': DATA_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
};

/** Sets an answer's security headers; pages replace the policy. */
export function harden(_request: Request, response: Response, next: NextFunction): void {
  response.removeHeader('X-Powered-By');
  response.set(HEADERS);
  next();
}
