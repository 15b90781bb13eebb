import Docker from 'dockerode';
import { BadInputError } from '../core/errors.js';
import { dockerFailure, type Subject } from './docker-failure.js';

/** Longest wait for the engine's answer to one call; streams of a running command are not calls. */
const CALL_TIMEOUT_MS = 60_000;

/**
 * A client for `unix:///path`, `npipe:////./pipe/name`, `tcp://host:port` or `http(s)://host:port`; undefined means the
 * default socket. dockerode itself would read DOCKER_HOST behind our back, so that both ways are always spelled out.
 * @throws BadInputError for any other scheme.
 */
export function connectDocker(dockerHost?: string): Docker {
  if (dockerHost === undefined || dockerHost === '') return overSocket('/var/run/docker.sock');
  const socket = /^(?:unix|npipe):\/\/(.+)$/.exec(dockerHost)?.[1];
  if (socket !== undefined) return overSocket(socket);
  const address = /^(tcp|https?):\/\/(\[[^\]]+\]|[^:/]+)(?::(\d+))?\/?$/.exec(dockerHost);
  if (address === null) {
    throw new BadInputError(`"${dockerHost}" is none of unix://, tcp://, http:// and https://`, {
      field: 'DOCKER_HOST',
    });
  }
  const [, scheme, host = '', port] = address;
  const protocol = scheme === 'https' ? 'https' : 'http';
  return new Docker({ protocol, host: host.replace(/^\[|\]$/g, ''), port: Number(port ?? 2375) });
}

function overSocket(socketPath: string): Docker {
  return new Docker({ socketPath, host: '', protocol: 'http' });
}

/** One call to the engine with a deadline, its errors in our words. Not every call of dockerode heeds the signal. */
export async function engineCall<T>(subject: Subject, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const reason = new DOMException('no answer', 'TimeoutError');
      controller.abort(reason);
      reject(reason);
    }, CALL_TIMEOUT_MS);
  });
  try {
    return await Promise.race([call(controller.signal), late]);
  } catch (error) {
    throw dockerFailure(error, subject);
  } finally {
    clearTimeout(timer);
  }
}
