import { InvalidArgumentError } from 'commander';

/** A whole number from 0. @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** A whole number from 1. @throws InvalidArgumentError */
export function count(text: string): number {
  if (wholeNumber(text) === 0) throw new InvalidArgumentError('It must be at least 1.');
  return Number(text);
}

/** @throws InvalidArgumentError */
export function positive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) throw new InvalidArgumentError('It must be a number above 0.');
  return value;
}

/** From 0 to 1. @throws InvalidArgumentError */
export function probability(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It must be a number from 0 to 1.');
}

/** Seconds of a limit. @throws InvalidArgumentError */
export function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 1 && value <= 86_400)) throw new InvalidArgumentError('It must be a number from 1 to 86400.');
  return value;
}

/** One more value of an option that may be given several times. */
export function collected(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}
