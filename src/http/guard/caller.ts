import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
import { findApiKey, type ApiKey } from '../../core/api-key.js';

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
