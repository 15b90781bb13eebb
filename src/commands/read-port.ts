import { InvalidArgumentError } from 'commander';

/** Of an option. @throws InvalidArgumentError */
export function readPort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new InvalidArgumentError('must be 0 to 65535.');
  return port;
}
