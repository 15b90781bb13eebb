import type { NextFunction, Request, Response } from 'express';
import type { ApiKey } from '../../core/api-key.js';
import { operations } from '../openapi/operations.js';
import { REPORT_TYPES } from '../reports/reports.controller.js';
import { UPLOAD_TYPES } from '../runs/rescore.controller.js';
import { admit } from './rate-limit.js';
import { identify } from './caller.js';
import { endLeftBodies, limitHeldBodies, requireKnownType, type Uploads } from './bodies.js';
import { refuseForeignPages } from './origin.js';
import { limitRate } from './rate-limit.js';
import { noteRefusals, type RefusedRequest } from './refusals.js';

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
