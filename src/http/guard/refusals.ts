import { HttpStatus } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { codeOf } from '../problem.js';
import { callerOf } from './caller.js';

/** A path with `{names}` in it, and a method in capitals. */
interface Route {
  readonly method: string;
  readonly path: string;
}

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

/** The path of ours that a request asks for, with `{names}` for what varies; null when there is none. */
function templateOf(routes: readonly Route[]): (path: string) => string | null {
  const paths = [...new Set(routes.map(({ path }) => path))].map((path) => ({ path, pattern: patternOf(path) }));
  return (asked) => paths.find(({ pattern }) => pattern.test(asked))?.path ?? null;
}

/** As the router matches: whatever the case, with or without a slash at the end. */
function patternOf(path: string): RegExp {
  const literal = path.split(/\{[^{}]+\}/).map((part) => part.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${literal.join('[^/]+')}/?$`, 'i');
}
