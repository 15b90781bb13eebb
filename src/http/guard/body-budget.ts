import { PayloadTooLargeException, ServiceUnavailableException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { hasBody, type Uploads } from './known-type.js';

/** Largest JSON body. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;
/** Of bodies that are in memory at once; the same again and more is needed to parse them. */
const MAX_BYTES_AT_ONCE = 256 * 1024 * 1024;

/** Answers 413 to a JSON body that says it is too large, before it comes, and 503 with Retry-After while the JSON bodies under way come to too much memory. Uploads are not held. */
export function limitBodiesAtOnce(uploads: Uploads, maxBytes = MAX_BYTES_AT_ONCE) {
  let held = 0;
  return (request: Request, response: Response, next: NextFunction): void => {
    const size = hasBody(request) && !uploads.has(request.path) ? sizeOf(request) : 0;
    if (size > MAX_BODY_BYTES) {
      next(new PayloadTooLargeException(`The body is larger than ${MAX_BODY_BYTES} bytes.`));
      return;
    }
    if (held + size > maxBytes) {
      response.set('Retry-After', '1');
      next(new ServiceUnavailableException('Too many large bodies at once; send this one again.'));
      return;
    }
    held += size;
    response.once('close', () => {
      held -= size;
    });
    next();
  };
}

/** A body that does not say its size, or is packed, may turn out as large as any. */
function sizeOf({ headers }: Request): number {
  const said = Number(headers['content-length']);
  const isSaid = Number.isFinite(said) && headers['content-encoding'] === undefined;
  return isSaid ? said : Math.max(MAX_BODY_BYTES, said || 0);
}
