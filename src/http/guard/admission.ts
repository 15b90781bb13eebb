import { ForbiddenException, UnauthorizedException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import type { ApiKey, Scope } from '../../core/api-key.js';
import { callerOf } from './caller.js';

/** What holds no data of anybody's: health, the documents of the API, and the viewer, which asks for the key itself. */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/openapi.json', '/docs', '/', '/report']);
const OPEN_FOLDER = '/assets/';

/** As the router reads a path: whatever the case. */
const AUDIT = /^\/v1\/audit(\/|$)/i;

/** The scope that a request needs: looking is `read`, deleting and the audit log `admin`, everything else `run`. */
export function scopeOf(method: string, path: string): Scope {
  if (AUDIT.test(path)) return 'admin';
  if (['GET', 'HEAD', 'OPTIONS'].includes(method)) return 'read';
  return method === 'DELETE' ? 'admin' : 'run';
}

/** Whether nobody needs a key for it. */
export function isOpen(method: string, path: string): boolean {
  return scopeOf(method, path) === 'read' && (OPEN_PATHS.has(path) || path.startsWith(OPEN_FOLDER));
}

/** Lets a request in, before anything of its body is read, with a key that may do this; without keys, everybody. */
export function admit(apiKeys: readonly ApiKey[]) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (apiKeys.length === 0 || isOpen(request.method, request.path)) {
      next();
      return;
    }
    const { key } = callerOf(request);
    const scope = scopeOf(request.method, request.path);
    if (key === null) {
      response.set('WWW-Authenticate', 'Bearer realm="bestk"');
      next(new UnauthorizedException('An API key is required.'));
    } else {
      const refusal = new ForbiddenException(`The key "${key.name}" has no scope "${scope}".`);
      next(key.scopes.has(scope) ? undefined : refusal);
    }
  };
}
