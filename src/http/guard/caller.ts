import type { IncomingMessage } from 'node:http';
import { ForbiddenException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { findApiKey, type ApiKey } from '../../core/api-key.js';

/** Who asks. */
interface Caller {
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
