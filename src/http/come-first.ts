import type { NextFunction, Request, Response } from 'express';
import type { Turns } from '../pipeline/turns.js';

/** Has the work on runs give way to requests until their answers begin. */
export function comeFirst(turns: Turns) {
  return (_request: Request, response: Response, next: NextFunction): void => {
    response.once(
      'close',
      turns.ask(() => response.headersSent),
    );
    next();
  };
}
