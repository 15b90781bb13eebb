import { ForbiddenException, HttpException, HttpStatus, UnauthorizedException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import type { ApiKey, Scope } from '../../core/api-key.js';
import { callerOf, nameOf } from './caller.js';

/** Seconds of the allowance that may be used at once. */
const BURST_S = 2;
/** What a request without a right key costs, in requests: guessing is slow. */
const GUESS_COST = 20;

/** Answers 429 with Retry-After to a key, or an address without one, that asks too often. Liveness is always told. */
export function limitRate(requestsPerSecond: number, hasKeys: boolean) {
  const burst = Math.max(requestsPerSecond * BURST_S, GUESS_COST);
  const buckets = new TokenBuckets(requestsPerSecond, burst);
  return (request: Request, response: Response, next: NextFunction): void => {
    const { method, path } = request;
    if (path === '/healthz') {
      next();
      return;
    }
    const caller = callerOf(request);
    const isGuess = hasKeys && caller.key === null && !isOpen(method, path);
    const wait = buckets.take(nameOf(caller), isGuess ? GUESS_COST : 1, performance.now());
    if (wait === 0) {
      next();
      return;
    }
    response.set('Retry-After', String(Math.ceil(wait)));
    next(
      new HttpException('Too many requests; ask again after the time in Retry-After.', HttpStatus.TOO_MANY_REQUESTS),
    );
  };
}

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

interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

/** As many names are remembered; the one that was quiet for longest is forgotten first. */
const REMEMBERED = 10_000;

/** Allowances that refill steadily: at most `burst` at once, `perSecond` in the long run, apart for each name. */
export class TokenBuckets {
  /** Those used last stand last. */
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
  ) {}

  /**
   * Takes `cost` from a name's allowance when there is that much.
   * @param now milliseconds of a clock that never steps back
   * @returns 0, or how many seconds to wait
   */
  take(name: string, cost: number, now: number): number {
    const { tokens, at } = this.buckets.get(name) ?? { tokens: this.burst, at: now };
    const present = Math.min(this.burst, tokens + ((now - at) / 1_000) * this.perSecond);
    const isEnough = present >= cost;
    this.buckets.delete(name);
    this.buckets.set(name, { tokens: isEnough ? present - cost : present, at: now });
    if (this.buckets.size > REMEMBERED) this.forgetOne();
    return isEnough ? 0 : (cost - present) / this.perSecond;
  }

  private forgetOne(): void {
    const [quietest] = this.buckets.keys();
    if (quietest !== undefined) this.buckets.delete(quietest);
  }
}
