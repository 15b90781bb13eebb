import type { NextFunction, Request, Response } from 'express';

const NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Content-Security-Policy of every answer that is no page: data that a browser shows by itself can do nothing. */
const DATA_POLICY = NOTHING;
/** Content-Security-Policy of the viewer's pages: what comes from this service, and nothing inline. */
export const VIEWER_POLICY = `${NOTHING}; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'`;
/** Of the page that shows a report: a frame without scripts and origin inherits the policy, and reports bring their style. */
export const REPORT_POLICY = VIEWER_POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'");

/** What helmet sends, without the headers of browsers that are gone; HSTS is for whoever ends TLS in front. */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': DATA_POLICY,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
};

/** Sets the security headers of an answer; a page replaces the policy by its own. */
export function harden(_request: Request, response: Response, next: NextFunction): void {
  response.removeHeader('X-Powered-By');
  response.set(HEADERS);
  next();
}
