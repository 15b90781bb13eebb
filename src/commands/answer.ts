import { BestkError } from '../core/errors/errors.js';
import { visible } from '../core/visible.js';

/** One document on stdout, and nothing else there. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printText(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Progress and notices; never on stdout. */
export function printProgress(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Says what went wrong and what to do, in text or as one JSON document, and gives the exit code. */
export function printFailure(error: unknown, asJson: boolean): number {
  if (!(error instanceof BestkError)) throw error;
  if (asJson) printJson({ error: { code: error.code, message: error.message, next: error.next } });
  // Both may name what others wrote: a path of a data set, what a model server said.
  printProgress(`bestk: ${visible(error.message)}\n${visible(error.next)}`);
  return error.exitCode;
}
