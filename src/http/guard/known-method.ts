import { MethodNotAllowedException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';

/** A path with `{names}` in it, and a method in capitals. */
export interface Route {
  readonly method: string;
  readonly path: string;
}

/** Answers OPTIONS, and 405 with Allow for a method that a path of ours does not have. */
export function requireKnownMethod(routes: readonly Route[]) {
  const paths = [...new Set(routes.map(({ path }) => path))].map((path) => ({
    pattern: patternOf(path),
    allowed: allowedFor(routes.filter((route) => route.path === path).map(({ method }) => method)),
  }));
  return (request: Request, response: Response, next: NextFunction): void => {
    const allowed = paths.find(({ pattern }) => pattern.test(request.path))?.allowed;
    if (allowed === undefined || (allowed.has(request.method) && request.method !== 'OPTIONS')) {
      next();
      return;
    }
    response.set('Allow', [...allowed].join(', '));
    if (request.method === 'OPTIONS') response.status(204).end();
    else next(new MethodNotAllowedException(`${request.method} is not among ${[...allowed].join(', ')}.`));
  };
}

/** The path of ours that a request asks for, with `{names}` for what varies; null when there is none. */
export function templateOf(routes: readonly Route[]): (path: string) => string | null {
  const paths = [...new Set(routes.map(({ path }) => path))].map((path) => ({ path, pattern: patternOf(path) }));
  return (asked) => paths.find(({ pattern }) => pattern.test(asked))?.path ?? null;
}

/** As the router matches: whatever the case, with or without a slash at the end. */
function patternOf(path: string): RegExp {
  const literal = path.split(/\{[^{}]+\}/).map((part) => part.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`));
  return new RegExp(`^${literal.join('[^/]+')}/?$`, 'i');
}

function allowedFor(methods: readonly string[]): ReadonlySet<string> {
  return new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].toSorted());
}
