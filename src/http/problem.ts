import { STATUS_CODES } from 'node:http';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  HttpStatus,
  type LoggerService,
  StandardSchemaValidationPipe,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { BestkError, EXIT, stackOf } from '../core/errors/errors.js';
import { RefusedRequestError } from '../runs/run-intake.js';

/** The body of every error answer: RFC 9457 problem details with a stable `code`. */
export const Problem = z.object({
  type: z.literal('about:blank').describe('Constant; `code` identifies the problem.'),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string(),
  code: z.string(),
  next: z.string().optional().describe('What the client can do about it.'),
  errors: z
    .array(z.object({ path: z.string(), message: z.string() }))
    .optional()
    .describe('The problems and their paths in the request, such as `candidates.0.patch`.'),
});
export type Problem = z.infer<typeof Problem>;

/** Status of bestk errors by code; others are 503 if something is unavailable and 500 otherwise. */
const STATUS_BY_CODE = new Map<string, HttpStatus>([
  ['bad-input', HttpStatus.UNPROCESSABLE_ENTITY],
  ['not-found', HttpStatus.NOT_FOUND],
  ['conflict', HttpStatus.CONFLICT],
  ['interrupted', HttpStatus.SERVICE_UNAVAILABLE],
  ['disk-low', HttpStatus.INSUFFICIENT_STORAGE],
]);

/** An error as shown to clients; details of defects are withheld. */
export function problemOf(error: unknown): Problem {
  if (error instanceof RefusedRequestError) {
    const { status, message, issues } = error.refusal;
    return status === 422 ? problemOf(new InvalidRequestError(issues)) : problem(status, message);
  }
  if (error instanceof InvalidRequestError) {
    const [first] = error.problems;
    const detail =
      first === undefined ? error.message : `${first.path === '' ? 'request' : first.path}: ${first.message}`;
    return { ...problem(HttpStatus.UNPROCESSABLE_ENTITY, detail, 'invalid-request'), errors: [...error.problems] };
  }
  if (error instanceof BestkError) {
    const isUnavailable = error.exitCode === EXIT.unavailable;
    const fallback = isUnavailable ? HttpStatus.SERVICE_UNAVAILABLE : HttpStatus.INTERNAL_SERVER_ERROR;
    const status = STATUS_BY_CODE.get(error.code) ?? fallback;
    return { ...problem(status, error.message, error.code), next: error.next, ...errorsOf(error) };
  }
  if (error instanceof HttpException) return { ...problem(error.getStatus(), error.message), ...nextIn(error) };
  return problem(HttpStatus.INTERNAL_SERVER_ERROR, 'Internal error; see the service’s log.', 'internal');
}

function nextIn(error: HttpException): Pick<Problem, 'next'> {
  return WithNext.safeParse(error.getResponse()).data ?? {};
}

const WithNext = z.object({ next: z.string() });

function errorsOf({ message, place: { file, field = '' } }: BestkError): Pick<Problem, 'errors'> {
  if (field === '' || file !== undefined) return {};
  return { errors: [{ path: shortened(field), message: shortened(message.replace(`field "${field}": `, '')) }] };
}

/** The code of a problem that is identified only by its status. */
export function codeOf(status: number): string {
  return slug(titleOf(status));
}

/** Sends a problem as the response, which must not have begun. */
export function sendProblem(response: Response, problem: Problem): void {
  response.status(problem.status).type('application/problem+json').send(JSON.stringify(problem));
}

function problem(status: number, detail: string, code = codeOf(status)): Problem {
  return { type: 'about:blank', title: titleOf(status), status, detail: shortened(detail), code };
}

function titleOf(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}

function slug(title: string): string {
  return title.toLowerCase().replaceAll(/[^a-z]+/g, '-');
}

const FIRST_SERVER_ERROR = 500;

/** Answers every error as problem+json. Server errors are logged in full; clients never see a stack trace. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  /** @param hide redacts secrets from a text */
  constructor(
    private readonly logger: Pick<LoggerService, 'error'>,
    private readonly hide: (text: string) => string,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    const response = http.getResponse<Response>();
    const found = problemOf(error);
    const errors = found.errors?.map(({ path, message }) => ({ path, message: this.hide(message) }));
    const problem = { ...found, detail: this.hide(found.detail), ...(errors === undefined ? {} : { errors }) };
    if (problem.status >= FIRST_SERVER_ERROR && !hasHungUp(request)) {
      const reason = stackOf(error);
      this.logger.error(this.hide(`${request.method} ${request.path}: ${reason}`));
    }
    // A response that has begun cannot become an error; closing the connection shows the client that it is incomplete.
    if (response.headersSent) response.destroy();
    else sendProblem(response, problem);
  }
}

/** Whether the client disconnected before sending its whole body: no answer is needed, and it is not the service's fault. */
function hasHungUp(request: Request): boolean {
  return request.destroyed && !request.complete;
}

/** A problem in a request: its path, e.g. `candidates.0.patch`, and a message. */
interface RequestProblem {
  readonly path: string;
  readonly message: string;
}

const MAX_PROBLEMS = 100;
/** Limit for a path or message, so that client-made names are not returned by the megabyte. */
const MAX_LENGTH = 500;

/** A well-formed request that violates its schema. */
export class InvalidRequestError extends Error {
  readonly problems: readonly RequestProblem[];

  constructor(
    issues: readonly { message: string; path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined }[],
  ) {
    super('The request does not fit its schema.');
    this.problems = issues.slice(0, MAX_PROBLEMS).map(({ message, path = [] }) => ({
      path: shortened(path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')),
      message: shortened(message),
    }));
  }
}

/** Cuts a text to the length that an answer may repeat. */
function shortened(text: string): string {
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH)}…`;
}

/**
 * Validates requests by their schemas; bodies of runs are validated during intake.
 * @throws InvalidRequestError
 */
export class RequestPipe extends StandardSchemaValidationPipe {
  constructor() {
    super({ exceptionFactory: (issues) => new InvalidRequestError(issues) });
  }
}
