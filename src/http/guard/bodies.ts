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

/** Paths whose body is a stream, with the types they accept; all other bodies are JSON. */
export type Uploads = ReadonlyMap<string, readonly string[]>;

const MIB = 1024 * 1024;
/** Largest request for a run. */
export const MAX_BODY_BYTES = 64 * MIB;
/** Largest other JSON body: it is parsed on the main thread, where other requests wait. */
export const MAX_SMALL_BODY_BYTES = 8 * MIB;
/** Limits on raw JSON bodies held in memory at once; parsing needs at least as much again. */
const MOST_HELD = { byAll: 256 * MIB, byOne: 192 * MIB };
/**
 * How long the rest of a body may keep arriving after the answer: a client that is cut off while sending does not read it.
 */
const LINGER_MS = 5_000;
/** A client that sends nothing for this long is considered gone. */
const SILENT_MS = 10_000;

/** Memory overhead of a chunk of a body, which is an object. */
const PIECE_BYTES = 256;
/** A body with more chunks than `most` must average at least `bytes` per chunk. */
const PIECES = { most: 10_000, bytes: 64 };

const TOO_SMALL = new BadRequestException('The body arrives in chunks that are too small.');
const TOO_MANY = new ServiceUnavailableException('Too many large bodies at once; send this one again.');

/** Closes connections whose body stalls, or is still arriving long after the answer. */
export function endLeftBodies(request: Request, response: Response, next: NextFunction): void {
  if (hasBody(request)) {
    refuseCrumbs(request, response);
    response.setTimeout(SILENT_MS, () => {
      // Unread data means that the service is behind, not the client.
      if (request.complete || request.readableLength > 0) return;
      endWith(new RequestTimeoutException('The body stopped arriving.'), request, response);
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

/**
 * Refuses bodies in tiny chunks, as each chunk costs time and memory. Counted on `push`, because a stream can only be read
 * once.
 */
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

/** Methods that anybody may use on open paths: nobody without a key has the service wait for a body. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Refuses bodies of requests that only read, and bodies of unknown types, which would otherwise be silently ignored. */
export function requireKnownType(uploads: Uploads) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (WITHOUT_BODY.has(request.method) && hasBody(request)) {
      next(new BadRequestException(`Send a ${request.method} request without a body.`));
      return;
    }
    const types = uploads.get(pathOf(request)) ?? ['application/json'];
    if (!hasBody(request) || (request.is([...types]) !== false && saysUtf8(request))) {
      next();
      return;
    }
    response.set('Accept', types.join(', '));
    next(new UnsupportedMediaTypeException(`Send the body as ${types.join(' or ')}, in UTF-8.`));
  };
}

/** Codings of a body that is not compressed. */
const UNCOMPRESSED: ReadonlySet<string> = new Set(['', 'identity']);
const GZIP: ReadonlySet<string> = new Set(['gzip', 'x-gzip']);
const GZIP_TYPE = 'application/gzip';

function contentEncodingOf({ headers }: Request): string {
  return (headers['content-encoding'] ?? '').trim().toLowerCase();
}

/**
 * Answers 415 to a compressed body before a byte of it is decompressed. Uploads may be compressed once, with gzip: they are
 * stored as they arrive, and decompressed while they are read, in a thread.
 */
export function refuseCompressedBodies(uploads: Uploads) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const encoding = contentEncodingOf(request);
    const isUpload = uploads.has(pathOf(request));
    const isAccepted = isUpload && GZIP.has(encoding) && request.is(GZIP_TYPE) === false;
    if (UNCOMPRESSED.has(encoding) || isAccepted) {
      next();
      return;
    }
    response.set('Accept-Encoding', isUpload ? 'gzip, identity' : 'identity');
    next(new UnsupportedMediaTypeException(isUpload ? WRONG_UPLOAD_ENCODING : COMPRESSED));
  };
}

const COMPRESSED = {
  message: 'The body is compressed, and only uploads may be.',
  next: 'Send it uncompressed, without Content-Encoding.',
};
const WRONG_UPLOAD_ENCODING = {
  message: 'The body of an upload may only be compressed once, with gzip.',
  next: 'Send it with Content-Encoding: gzip, or uncompressed, without Content-Encoding.',
};

/** Whether the body of an upload is compressed, by its type or its coding. */
export function isGzipUpload(request: Request): boolean {
  return request.is(GZIP_TYPE) !== false || GZIP.has(contentEncodingOf(request));
}

/**
 * Answers 413 to a JSON body whose declared length is too large, before it arrives, and 503 with Retry-After if the bytes
 * held in memory would exceed the limit for all callers or for its sender. Only received bytes count, so that announcing a
 * large body does not reserve memory.
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
    let own = 0;
    const take = (chunk: Buffer): void => {
      const bytes = chunk.length + PIECE_BYTES;
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

/** Sends the problem, unless an answer has begun, and closes the connection without waiting for the rest of the body. */
function endWith(problem: HttpException, request: Request, response: Response): void {
  if (!response.headersSent) sendProblem(response.set('Connection', 'close'), problemOf(problem));
  request.destroy();
}

/** Aborts when the client has disconnected or the answer is complete. */
export function leftBy(response: Response): AbortSignal {
  const left = new AbortController();
  const leave = (): void => {
    left.abort(new BadInputError('was left by its client.', { field: 'body' }));
  };
  // If the client left while the request was read, no further "close" event follows.
  if (response.destroyed) leave();
  else response.once('close', leave);
  return left.signal;
}

function saysUtf8({ headers }: Request): boolean {
  const charset = headers['content-type']?.toLowerCase().split('charset=')[1];
  return charset === undefined || /^"?utf-8\b/.test(charset.trimStart());
}

/** Whether the request submits a run. */
export function isRunRequest(request: IncomingMessage): boolean {
  return request.method === 'POST' && /^\/v1\/runs\/?(\?|$)/i.test(request.url ?? '');
}

function pathOf({ path }: Request): string {
  return path.toLowerCase().replace(/\/$/, '');
}

function hasBody({ headers }: Pick<Request, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
}

/** Enough for a thousand patches to judge, with all their fields. */
export const MAX_VALUES = 20_000;
/** Paths whose bodies have further values for each token of a response; their readers count the others. */
const WITH_TOKENS: ReadonlySet<string> = new Set(['/verify', '/compare']);
const MAX_VALUES_WITH_TOKENS = 500_000;

/**
 * Checks a JSON body before it is parsed. Requests for runs, which may be larger, are read in a separate thread.
 * @throws UnsupportedMediaTypeException unless it is in UTF-8, BadRequestException if it is not valid UTF-8 (a patch must not
 * be altered silently) or too deeply nested, PayloadTooLargeException for more values than can be read and validated without
 * blocking other requests
 */
export function requireReadable(request: IncomingMessage, _response: unknown, body: Buffer, encoding: string): void {
  if (encoding !== 'utf-8') throw new UnsupportedMediaTypeException('Send the body in UTF-8.');
  if (!isUtf8(body)) throw new BadRequestException('The body is not valid UTF-8.');
  const shape = shapeOf(body);
  if (isTooDeep(shape)) throw new BadRequestException(`The body ${TOO_DEEP}.`);
  const most = WITH_TOKENS.has(pathOf(request as Request)) ? MAX_VALUES_WITH_TOKENS : MAX_VALUES;
  if (shape.values > most) throw tooManyValues(most);
}

export function tooManyValues(most: number): HttpException {
  return new PayloadTooLargeException(`The body has more than ${most} values.`);
}
