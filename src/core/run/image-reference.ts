import { z } from 'zod';
import { BadInputError } from '../errors/errors.js';

/*
 * Docker's own grammar (github.com/distribution/reference, `reference.go`), with the digests that its engine knows. Written
 * so that no text matches a part in two ways: matching is linear.
 */
const COMPONENT = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*';
const PATH = `${COMPONENT}(?:/${COMPONENT})*`;
const DOMAIN_COMPONENT = '[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*';
const HOST = String.raw`(?:${DOMAIN_COMPONENT}(?:\.${DOMAIN_COMPONENT})*|\[[A-Fa-f0-9:]+\])`;
const DOMAIN = `${HOST}(?::[0-9]+)?`;
const TAG = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const DIGEST = 'sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}';
const REFERENCE = new RegExp(`^((?:${DOMAIN}/)?${PATH})(?::${TAG})?(?:@(?:${DIGEST}))?$`);

/** Of the name without tag and digest. */
const LONGEST_NAME = 255;
/** Of the longest name, tag and digest together. */
const LONGEST = LONGEST_NAME + ':'.length + 128 + '@sha512:'.length + 128;

/** Whether a container engine takes this for the name or the id of an image. */
export function isImageReference(text: string): boolean {
  if (text.length > LONGEST) return false;
  const name = REFERENCE.exec(text)?.[1];
  return name !== undefined && name.length <= LONGEST_NAME;
}

const NOT_ONE = 'is no image reference; write registry.example.com:5000/team/name:tag, or name@sha256:…';

/** The name of an image, wherever one enters: it becomes a part of addresses and of commands to engines. */
export const ImageReference = z.string().refine(isImageReference, NOT_ONE);

/** @throws BadInputError naming `field` */
export function requireImageReference(image: string, field = 'environment.image'): void {
  if (!isImageReference(image)) throw new BadInputError(NOT_ONE, { field });
}
