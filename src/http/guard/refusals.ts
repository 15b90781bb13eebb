import { HttpStatus } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { codeOf } from '../problem.js';
import { callerOf } from './caller.js';
import { type Route, templateOf } from './known-method.js';

const REFUSALS: readonly number[] = [HttpStatus.UNAUTHORIZED, HttpStatus.FORBIDDEN, HttpStatus.TOO_MANY_REQUESTS];

/** A request that was not let in. */
export interface RefusedRequest {
  readonly action: string;
  readonly actor: string | null;
  readonly address: string;
  readonly outcome: string;
}

/** Tells of requests that are answered 401, 403 or 429. Of their paths only what is ours is told. */
export function noteRefusals(routes: readonly Route[], tell: (refused: RefusedRequest) => void) {
  const template = templateOf(routes);
  return (request: Request, response: Response, next: NextFunction): void => {
    response.once('finish', () => {
      const { statusCode } = response;
      if (!REFUSALS.includes(statusCode)) return;
      const { key, address } = callerOf(request);
      const action = `${request.method} ${template(request.path) ?? 'elsewhere'}`;
      tell({ action, actor: key?.name ?? null, address, outcome: codeOf(statusCode) });
    });
    next();
  };
}
