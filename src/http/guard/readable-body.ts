import { BadRequestException, UnsupportedMediaTypeException } from '@nestjs/common';
import { isTooDeep, shapeOf, TOO_DEEP } from '../../core/json-shape.js';

/**
 * Looks at a JSON body before it is parsed.
 * @throws UnsupportedMediaTypeException unless it is in UTF-8, BadRequestException when it is not valid UTF-8 (a patch
 *   must not be changed in silence) or too deeply nested
 */
export function requireReadable(_request: unknown, _response: unknown, body: Buffer, encoding: string): void {
  if (encoding !== 'utf-8') throw new UnsupportedMediaTypeException('Send the body in UTF-8.');
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    throw new BadRequestException('The body is not valid UTF-8.');
  }
  if (isTooDeep(shapeOf(body))) throw new BadRequestException(`The body ${TOO_DEEP}.`);
}
