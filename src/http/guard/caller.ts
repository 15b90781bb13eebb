import type { IncomingMessage } from 'node:http';
import { ForbiddenException, HttpException, HttpStatus, UnauthorizedException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { findApiKey, type ApiKey, type Scope } from '../../core/secrets.js';

/** Who asks. */
export interface Caller {
  /** Null = no key of ours was offered. */
  readonly key: ApiKey | null;
  readonly address: string;
}

const callers = new WeakMap<IncomingMessage, Caller>();

/** Notes who asks: the owner of a key that came as `Authorization: Bearer` or `X-Api-Key`, or an address alone. */
export function identify(apiKeys: readonly ApiKey[]) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    const offered = offeredKey(request);
    const key = offered === '' ? null : (findApiKey(offered, apiKeys) ?? null);
    callers.set(request, { key, address: request.socket.remoteAddress ?? '' });
    next();
  };
}

/** Of a request that went through {@link identify}. */
export function callerOf(request: IncomingMessage): Caller {
  return callers.get(request) ?? { key: null, address: '' };
}

/** Bits of an IPv6 address that one customer has to himself. */
const OWN_GROUPS = 4;

/** By which what one caller uses is counted. */
export function nameOf({ key, address }: Caller): string {
  if (key !== null) return `key ${key.name}`;
  return address.includes(':') && !address.includes('.')
    ? `network ${address.split(':').slice(0, OWN_GROUPS).join(':')}`
    : `address ${address}`;
}

function offeredKey(request: Request): string {
  const bearer = /^Bearer +(\S+)$/i.exec(request.get('authorization') ?? '')?.[1];
  return bearer ?? request.get('x-api-key') ?? '';
}

const FROM_HERE: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * Keeps web pages out that are not ours: a page that a researcher looks at must neither start runs on the service of
 * the same machine nor read from it. Where no keys are set, the service answers on loopback names alone, so that no
 * page reaches it through a name of its own (DNS rebinding).
 */
export function refuseForeignPages(hasKeys: boolean) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    if (!hasKeys && !isLoopback(hostName(request.get('host') ?? ''))) {
      next(new ForbiddenException('Without API keys the service answers on loopback names alone.'));
    } else {
      next(isForeign(request) ? new ForbiddenException('Pages of other sites may not use this service.') : undefined);
    }
  };
}

/** By Sec-Fetch-Site, which no page can forge; older browsers send Origin alone, and programs neither. */
function isForeign(request: Request): boolean {
  const site = request.get('sec-fetch-site');
  if (site !== undefined) return !FROM_HERE.has(site) && !isNavigation(request);
  const origin = request.get('origin');
  return origin !== undefined && origin.replace(/^https?:\/\//, '') !== request.get('host');
}

/** A link on another site may lead here: the page opens in a tab of its own, and the other site cannot look into it. */
function isNavigation(request: Request): boolean {
  const { method } = request;
  return (
    method === 'GET' && request.get('sec-fetch-mode') === 'navigate' && request.get('sec-fetch-dest') === 'document'
  );
}

function hostName(host: string): string {
  return host.replace(/:\d+$/, '');
}

/** Whether a host name or address, as in a URL, can only mean this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}

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
