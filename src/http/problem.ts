import { HttpException, HttpStatus } from '@nestjs/common';
import { BestkError, UnavailableError } from '../core/errors.js';
import { InvalidRequestError, type RequestProblem } from './invalid-request.js';

/** The body of every error answer: problem details of RFC 9457, with a stable `code`. */
export interface Problem {
  /** `about:blank`: what the problem is, `code` says. */
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  /** What the client can do. */
  readonly next?: string;
  readonly errors?: readonly RequestProblem[];
}

/** Errors of bestk by code; those that are not named are 503 when something is unavailable and 500 otherwise. */
const STATUS_BY_CODE = new Map<string, HttpStatus>([
  ['bad-input', HttpStatus.UNPROCESSABLE_ENTITY],
  ['not-found', HttpStatus.NOT_FOUND],
  ['conflict', HttpStatus.CONFLICT],
  ['interrupted', HttpStatus.SERVICE_UNAVAILABLE],
]);

/** What a client is told about an error; of a defect, nothing but that it is one. */
export function problemOf(error: unknown): Problem {
  if (error instanceof InvalidRequestError) {
    const [first] = error.problems;
    const detail =
      first === undefined ? error.message : `${first.path === '' ? 'request' : first.path}: ${first.message}`;
    return { ...problem(HttpStatus.UNPROCESSABLE_ENTITY, detail, 'invalid-request'), errors: error.problems };
  }
  if (error instanceof BestkError) {
    const fallback =
      error instanceof UnavailableError ? HttpStatus.SERVICE_UNAVAILABLE : HttpStatus.INTERNAL_SERVER_ERROR;
    return { ...problem(STATUS_BY_CODE.get(error.code) ?? fallback, error.message, error.code), next: error.next };
  }
  if (error instanceof HttpException) return problem(error.getStatus(), error.message);
  return problem(HttpStatus.INTERNAL_SERVER_ERROR, 'The service met an internal error; its log says more.', 'internal');
}

function problem(status: number, detail: string, code = slug(titleOf(status))): Problem {
  return { type: 'about:blank', title: titleOf(status), status, detail, code };
}

/** `Payload Too Large`, from Nest's `PAYLOAD_TOO_LARGE`. */
function titleOf(status: number): string {
  const name = HttpStatus[status] ?? 'ERROR';
  return name
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
    .join(' ');
}

function slug(title: string): string {
  return title.toLowerCase().replaceAll(' ', '-');
}
