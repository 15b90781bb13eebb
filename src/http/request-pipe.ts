import { StandardSchemaValidationPipe } from '@nestjs/common';
import { InvalidRequestError } from './problem.js';

/** Reads what a request says by its schema; bodies of runs are read by whoever takes them in. @throws InvalidRequestError */
export class RequestPipe extends StandardSchemaValidationPipe {
  constructor() {
    super({ exceptionFactory: (issues) => new InvalidRequestError(issues) });
  }
}
