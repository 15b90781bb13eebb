import type { StoreFailure } from './store-guard.js';

/** Classes of SQLSTATE that tell of the server, not of the statement, and whether a later try may do. */
const CLASSES: Readonly<Record<string, boolean>> = {
  // Connection lost, out of resources (disk, memory, connections), shut down or starting, the system's own error.
  '08': true,
  '53': true,
  '57': true,
  '58': true,
  // A fault of its own: so ends, on a full disk, a session that begins ("could not write init file").
  XX: true,
  // Deadlock or serialization: the other one has gone on.
  '40': true,
  // Refused: password, user, database, rights.
  '28': false,
  '3D': false,
  '42501': false,
  // Read-only: a standby before its promotion.
  '25006': true,
};
const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'ENOENT',
  'ENOTFOUND',
]);
/** The driver gives these no code. */
const SAID = [
  /^Connection terminated/,
  /^timeout exceeded when trying to connect/,
  /^Query read timeout/,
  /^Client has encountered a connection error/,
  /^The server does not support SSL/,
  /^driver has already been destroyed/,
];

/** Whether the connection that this came over is of no more use. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return (
    NETWORK.has(code) ||
    code.startsWith('08') ||
    code.startsWith('57P') ||
    code === '25P03' ||
    SAID.some((said) => said.test(textOf(error)))
  );
}

/** What an error of the driver means; null when it is none of the server's. */
export function postgresFailure(error: unknown): StoreFailure | null {
  const code = codeOf(error);
  if (isConnectionLost(error)) return { detail: textOf(error), passing: code !== 'ENOTFOUND' };
  const passing = CLASSES[code] ?? CLASSES[code.slice(0, 2)];
  return passing === undefined ? null : { detail: textOf(error), passing };
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** By its fields: an error of another realm is no instance of ours. Of a name with several addresses all are told. */
export function textOf(error: unknown): string {
  const { message, errors } = (error ?? {}) as { message?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.map(textOf).join('; ');
  return typeof message === 'string' && message !== '' ? message : codeOf(error) || String(error);
}
