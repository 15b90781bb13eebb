import { UnavailableError } from '../core/errors/errors.js';
import { ImageMissingError } from '../core/errors/unavailable.js';

/** A unit could not be done; the error of the process that tried last, in its words. */
export class UnitFailedError extends UnavailableError {
  readonly code: string;
  readonly retryable = false;

  constructor({ code, message, next }: { code: string; message: string; next: string }) {
    super(message, next);
    this.code = code;
  }
}

/** This process has no such image, or another under its name: others may do the unit. */
export class NotHereError extends ImageMissingError {}
