import { ForbiddenException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';

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
