import type { NextFunction, Request, Response } from 'express';
import type { ApiKey } from '../../core/api-key.js';
import { operations } from '../openapi/operations.js';
import { REPORT_TYPES } from '../reports/reports.controller.js';
import { UPLOAD_TYPES } from '../runs/rescore.controller.js';
import { admit } from './rate-limit.js';
import { limitBodiesAtOnce } from './body-budget.js';
import { identify } from './caller.js';
import { requireKnownMethod } from './known-method.js';
import { requireKnownType, type Uploads } from './known-type.js';
import { refuseForeignPages } from './origin.js';
import { limitRate } from './rate-limit.js';
import { noteRefusals, type RefusedRequest } from './refusals.js';
import { requireSteadyBody } from './steady-body.js';

const UPLOADS: Uploads = new Map([
  ['/v1/rescores', UPLOAD_TYPES],
  ['/v1/reports', REPORT_TYPES],
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
    requireSteadyBody(),
    identify(apiKeys),
    noteRefusals(operations, refused),
    limitRate(rateLimit, hasKeys),
    refuseForeignPages(hasKeys),
    admit(apiKeys),
    requireKnownMethod(operations),
    requireKnownType(UPLOADS),
    limitBodiesAtOnce(UPLOADS),
  ];
}
