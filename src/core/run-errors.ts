import { BestkError, EXIT } from './errors.js';

/** There is no such run, or nothing of that name in it. */
export class RunNotFoundError extends BestkError {
  readonly code = 'not-found';
  readonly exitCode = EXIT.badInput;

  constructor(message: string, next = 'List the runs to see which exist.') {
    super(message, next);
  }

  static forRun(id: string): RunNotFoundError {
    return new RunNotFoundError(`There is no run "${id}".`);
  }
}

/** The run is in a state that does not allow this. */
export class RunConflictError extends BestkError {
  readonly code = 'conflict';
  readonly exitCode = EXIT.badInput;
}
