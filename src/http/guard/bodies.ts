import type { IncomingMessage } from 'node:http';
import {
  BadRequestException,
  type HttpException,
  PayloadTooLargeException,
  RequestTimeoutException,
  ServiceUnavailableException,
  UnsupportedMediaTypeException,
} from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { isUtf8 } from 'node:buffer';
import { problemOf, sendProblem } from '../problem.js';
import { callerOf, nameOf } from './caller.js';
import { BadInputError } from '../../core/errors/errors.js';
import { isTooDeep, shapeOf, TOO_DEEP } from '../../core/json.js';

/** Paths whose body is a stream, and the types it may have; every other body is JSON. */
export type Uploads = ReadonlyMap<string, readonly string[]>;

const MIB = 1024 * 1024;
/** Largest request for a run. */
export const MAX_BODY_BYTES = 64 * MIB;
/** Largest JSON body besides: read where others wait. */
export const MAX_SMALL_BODY_BYTES = 8 * MIB;
/** Of JSON bodies that are in memory at once, as they came; parsed they need the same again and more. */
const MOST_HELD = { byAll: 256 * MIB, byOne: 192 * MIB };
/** What is left of a body when its answer is there may still come for so long: who is cut off while sending does not read it. */
const LINGER_MS = 5_000;
/** A client that sends nothing for so long is gone. */
const SILENT_MS = 10_000;

/** 258 bytes for two bits (RFC 1951). */
const DEFLATE_GROWTH = 1_032;
/** Memory of a piece of a body, beside its bytes: it is an object. */
const PIECE_BYTES = 256;
/** In more pieces than this a body has to come in pieces of this many bytes on average. */
const PIECES = { most: 10_000, bytes: 64 };

const TOO_SMALL = new BadRequestException('The body comes in too small pieces.');
const TOO_MANY = new ServiceUnavailableException('Too many large bodies at once; send this one again.');

/** Closes connections on which nothing of a body comes, or still comes long after the answer. */
export function endLeftBodies(request: Request, response: Response, next: NextFunction): void {
  if (hasBody(request)) {
    refuseCrumbs(request, response);
    response.setTimeout(SILENT_MS, () => {
      // What lies unread here waits for us, not for the client.
      if (request.complete || request.readableLength > 0) return;
      endWith(new RequestTimeoutException('The body stopped coming.'), request, response);
    });
    response.once('finish', () => {
      if (request.complete) return;
      const end = setTimeout(() => {
        if (!request.complete) request.destroy();
      }, LINGER_MS);
      end.unref();
    });
  }
  next();
}

/** Each piece costs time and memory, however small; seen where they come in, since a stream is read once. */
function refuseCrumbs(request: Request, response: Response): void {
  const push = request.push.bind(request);
  let [pieces, bytes] = [0, 0];
  request.push = (piece: Buffer | null, ...rest): boolean => {
    pieces += 1;
    bytes += piece?.length ?? 0;
    if (pieces <= PIECES.most || bytes >= pieces * PIECES.bytes) return push(piece, ...rest);
    endWith(TOO_SMALL, request, response);
    return false;
  };
}

/** Refuses bodies that would be passed over in silence. */
export function requireKnownType(uploads: Uploads) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const types = uploads.get(pathOf(request)) ?? ['application/json'];
    if (!hasBody(request) || (request.is([...types]) !== false && saysUtf8(request))) {
      next();
      return;
    }
    response.set('Accept', types.join(', '));
    next(new UnsupportedMediaTypeException(`Send the body as ${types.join(' or ')}, in UTF-8.`));
  };
}

/**
 * Answers 413 to a JSON body that says it is too large, before it comes, and 503 with Retry-After to one that would have more
 * held in memory than all, or its sender, may. What arrived counts, so that nobody holds the place of what he only announces.
 */
export function limitHeldBodies(uploads: Uploads, most = MOST_HELD) {
  const heldBy = new Map<string, number>();
  let held = 0;
  const hold = (name: string, bytes: number): boolean => {
    held += bytes;
    const own = (heldBy.get(name) ?? 0) + bytes;
    if (own === 0) heldBy.delete(name);
    else heldBy.set(name, own);
    return own <= most.byOne && held <= most.byAll;
  };
  return (request: Request, response: Response, next: NextFunction): void => {
    if (!hasBody(request) || uploads.has(pathOf(request))) {
      next();
      return;
    }
    if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) {
      next(new PayloadTooLargeException(`The body is larger than ${MAX_BODY_BYTES} bytes.`));
      return;
    }
    const name = nameOf(callerOf(request));
    const growth = growthOf(request.headers['content-encoding']);
    let own = 0;
    const take = (chunk: Buffer): void => {
      const most = Math.max(0, MAX_BODY_BYTES - own);
      const unpacked = growth === 1 ? chunk.length : Math.min(most, chunk.length * growth);
      const bytes = unpacked + PIECE_BYTES;
      own += bytes;
      if (hold(name, bytes)) return;
      if (!response.headersSent) response.set('Retry-After', '1');
      endWith(TOO_MANY, request, response);
    };
    request.on('data', take);
    response.once('close', () => {
      request.off('data', take);
      hold(name, -own);
    });
    next();
  };
}

/** What a byte of a packed body can become at most. */
function growthOf(encoding: string | undefined): number {
  if (encoding === undefined || encoding === 'identity') return 1;
  return encoding === 'gzip' || encoding === 'deflate' ? DEFLATE_GROWTH : Infinity;
}

/** Answers, if nobody did, without waiting for the rest of a body. */
function endWith(problem: HttpException, request: Request, response: Response): void {
  if (!response.headersSent) sendProblem(response.set('Connection', 'close'), problemOf(problem));
  request.destroy();
}

/** Aborts when the client has left, or has its answer. */
export function leftBy(response: Response): AbortSignal {
  const left = new AbortController();
  const leave = (): void => {
    left.abort(new BadInputError('was left by its client.', { field: 'body' }));
  };
  // Who left while the request was read is told of by no further "close".
  if (response.destroyed) leave();
  else response.once('close', leave);
  return left.signal;
}

function saysUtf8({ headers }: Request): boolean {
  const charset = headers['content-type']?.toLowerCase().split('charset=')[1];
  return charset === undefined || /^"?utf-8\b/.test(charset.trimStart());
}

/** Whether the body asks for a run. */
export function isRunRequest(request: IncomingMessage): boolean {
  return request.method === 'POST' && /^\/v1\/runs\/?(\?|$)/i.test(request.url ?? '');
}

function pathOf({ path }: Request): string {
  return path.toLowerCase().replace(/\/$/, '');
}

function hasBody({ headers }: Pick<Request, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
}

/** Of a thousand patches to be judged with all that stands beside them. */
export const MAX_VALUES = 20_000;

/**
 * Looks at a JSON body before it is parsed; requests for runs, which may be larger, have a thread of their own.
 * @throws UnsupportedMediaTypeException unless it is in UTF-8, BadRequestException when it is not valid UTF-8 (a patch
 *   must not be changed in silence) or too deeply nested, PayloadTooLargeException for more values than can be read and
 *   checked without holding up everybody else
 */
export function requireReadable(_request: unknown, _response: unknown, body: Buffer, encoding: string): void {
  if (encoding !== 'utf-8') throw new UnsupportedMediaTypeException('Send the body in UTF-8.');
  if (!isUtf8(body)) throw new BadRequestException('The body is not valid UTF-8.');
  const shape = shapeOf(body);
  if (isTooDeep(shape)) throw new BadRequestException(`The body ${TOO_DEEP}.`);
  if (shape.values > MAX_VALUES) throw new PayloadTooLargeException(`The body holds more than ${MAX_VALUES} values.`);
}
