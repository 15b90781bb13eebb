import { isUtf8 } from 'node:buffer';
import { BadRequestException, PayloadTooLargeException, UnsupportedMediaTypeException } from '@nestjs/common';
import { isTooDeep, shapeOf, TOO_DEEP } from '../../core/json.js';

/** Of a thousand patches to be judged with all that stands beside them. */
const MAX_VALUES = 20_000;

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
