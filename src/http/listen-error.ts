import { UnavailableError } from '../core/errors.js';

/** The address is taken, not ours, or does not exist. */
export class ListenError extends UnavailableError {
  readonly code = 'cannot-listen';
  readonly retryable = false;

  constructor(host: string, port: number, cause: unknown) {
    super(
      `Cannot listen on ${host}:${port}: ${String(cause)}`,
      'Choose another host or port, or stop what listens there.',
      { cause },
    );
  }
}
