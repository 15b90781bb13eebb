import { setMaxListeners } from 'node:events';

/** A signal that any number of calls may listen to at once: Node would take the eleventh for a leak and say so. */
export function patient(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}
