import type { IncomingMessage } from 'node:http';
import { ForbiddenException, HttpException, HttpStatus, UnauthorizedException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { findApiKey, type ApiKey, type Scope } from '../../core/secrets.js';

/** The client that sent a request. */
export interface Caller {
  /** Null = no valid key was sent. */
  readonly key: ApiKey | null;
  readonly address: string;
}

const callers = new WeakMap<IncomingMessage, Caller>();

/** Identifies the caller: by the key in `Authorization: Bearer`, in `X-Api-Key` or as a password, otherwise by address. */
export function identify(apiKeys: readonly ApiKey[]) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    const offered = offeredKey(request);
    const key = offered === '' ? null : (findApiKey(offered, apiKeys) ?? null);
    callers.set(request, { key, address: request.socket.remoteAddress ?? '' });
    next();
  };
}

/** The caller of a request that passed through {@link identify}. */
export function callerOf(request: IncomingMessage): Caller {
  return callers.get(request) ?? { key: null, address: '' };
}

/** 16-bit groups of an IPv6 address, and the leading ones that identify one customer's network (a /64). */
const [GROUPS, OWN_GROUPS] = [8, 4];

/** The name under which a caller's usage is counted. */
export function nameOf({ key, address }: Caller): string {
  if (key !== null) return `key ${key.name}`;
  return address.includes(':') && !address.includes('.')
    ? `network ${groupsOf(address).slice(0, OWN_GROUPS).join(':')}`
    : `address ${address}`;
}

/** An IPv6 address's groups, with the zeros that `::` stands for. */
function groupsOf(address: string): readonly string[] {
  const [front = [], back] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  if (back === undefined) return front;
  const zeros = GROUPS - front.length - back.length;
  return [...front, ...Array.from({ length: zeros }, () => '0'), ...back];
}

function offeredKey(request: Request): string {
  const credentials = request.get('authorization') ?? '';
  const bearer = /^Bearer +(\S+)$/i.exec(credentials)?.[1];
  return bearer ?? request.get('x-api-key') ?? passwordIn(credentials);
}

/** Of `Basic` credentials, for clients that take only a URL: `http://any:KEY@host`. */
function passwordIn(credentials: string): string {
  const user = /^Basic +(\S+)$/i.exec(credentials)?.[1] ?? '';
  return /^[^:]*:(.*)$/.exec(Buffer.from(user, 'base64').toString())?.[1] ?? '';
}

const FROM_HERE: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * Refuses requests from web pages of other origins: a page open in a user's browser must neither start runs on a service on
 * the same machine nor read from it. Without keys, the service answers only to loopback host names, so that no page reaches
 * it through its own domain (DNS rebinding).
 */
export function refuseForeignPages(hasKeys: boolean) {
  return (request: Request, _response: Response, next: NextFunction): void => {
    if (!hasKeys && !isLoopback(hostName(request.get('host') ?? ''))) {
      next(new ForbiddenException('Without API keys the service only answers requests to loopback names.'));
    } else {
      next(isForeign(request) ? new ForbiddenException("Requests from other sites' pages are refused.") : undefined);
    }
  };
}

/** Uses Sec-Fetch-Site, which pages cannot forge; older browsers send only Origin, and programs neither. */
function isForeign(request: Request): boolean {
  const site = request.get('sec-fetch-site');
  if (site !== undefined) return !FROM_HERE.has(site) && !isNavigation(request);
  const origin = request.get('origin');
  return origin !== undefined && origin.replace(/^https?:\/\//, '') !== request.get('host');
}

/** Links from other sites are allowed: the page opens in its own browsing context, which the other site cannot read. */
function isNavigation(request: Request): boolean {
  const { method } = request;
  return (
    method === 'GET' && request.get('sec-fetch-mode') === 'navigate' && request.get('sec-fetch-dest') === 'document'
  );
}

function hostName(host: string): string {
  return host.replace(/:\d+$/, '');
}

/** Whether a host name or address, as in a URL, always refers to this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || /^127(\.\d{1,3}){3}$/.test(name);
}

/** Seconds of the allowance that may be used at once. */
const BURST_S = 2;
/** Cost, in requests, of a request without a valid key; slows down guessing. */
const GUESS_COST = 20;

/** Answers 429 with Retry-After if a key, or an address without one, exceeds its rate. Liveness checks are exempt. */
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
    next(new HttpException('Too many requests; retry after the time in Retry-After.', HttpStatus.TOO_MANY_REQUESTS));
  };
}

/** Paths without user data: health, API documents, and the viewer, which asks for the key itself. */
const OPEN_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/openapi.json', '/docs', '/', '/report']);
const OPEN_FOLDER = '/assets/';

/** Case-insensitive, as in the router. */
const AUDIT = /^\/v1\/audit(\/|$)/i;

/** The scope that a request needs: `read` for reading, `admin` for deletion and the audit log, `run` for everything else. */
export function scopeOf(method: string, path: string): Scope {
  if (AUDIT.test(path)) return 'admin';
  if (['GET', 'HEAD', 'OPTIONS'].includes(method)) return 'read';
  return method === 'DELETE' ? 'admin' : 'run';
}

/** Whether a request needs no key. */
export function isOpen(method: string, path: string): boolean {
  return scopeOf(method, path) === 'read' && (OPEN_PATHS.has(path) || path.startsWith(OPEN_FOLDER));
}

/** Admits requests with a key that has the needed scope, before the body is read; admits all if no keys are configured. */
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

/** Most names tracked; the least recently active is dropped first. */
const REMEMBERED = 10_000;

/** Token buckets by name: at most `burst` at once, `perSecond` on average. */
export class TokenBuckets {
  /** Least recently used first. */
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
  ) {}

  /**
   * Takes `cost` from a name's allowance if it suffices.
   * @param now milliseconds of a monotonic clock
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
