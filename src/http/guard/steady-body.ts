import { RequestTimeoutException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { problemOf, sendProblem } from '../problem.js';
import { hasBody } from './known-type.js';

/** In each window a client that is waited for sends at least this much: a stalled one does not hold its connection. */
const WINDOW_MS = 10_000;
const LEAST_BYTES = 10 * 1024;

/** Ends requests whose body trickles. An upload may take hours, so that a limit on the whole would be a limit on its size. */
export function requireSteadyBody(windowMs = WINDOW_MS) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (hasBody(request)) watch(request, response, windowMs);
    next();
  };
}

function watch(request: Request, response: Response, windowMs: number): void {
  const { socket } = request;
  let seen = socket.bytesRead;
  const timer = setInterval(() => {
    const arrived = socket.bytesRead - seen;
    seen = socket.bytesRead;
    // What lies unread here waits for us, not for the client.
    if (request.complete || request.readableLength > 0 || arrived >= LEAST_BYTES) return;
    clearInterval(timer);
    if (!response.headersSent) {
      response.set('Connection', 'close');
      sendProblem(response, problemOf(new RequestTimeoutException('The body comes too slowly.')));
    }
    request.destroy();
  }, windowMs).unref();
  // Not with the answer: what was refused at once may still trickle.
  request.once('close', () => {
    clearInterval(timer);
  });
}
