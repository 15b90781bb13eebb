import type Modem from 'docker-modem';
import Docker from 'dockerode';
import { BadInputError, BestkError } from '../../core/errors/errors.js';
import {
  EngineDiskFullError,
  EngineUnavailableError,
  ImageMissingError,
  SandboxLostError,
} from '../../core/errors/unavailable.js';
import { requireImageReference } from '../../core/run/image-reference.js';
import { engineModem } from './modem.js';

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
  return withOwnRequests({ protocol, host: host.replace(/^\[|\]$/g, ''), port: Number(port ?? 2375) });
}

function overSocket(socketPath: string): Docker {
  return withOwnRequests({ socketPath, host: '', protocol: 'http' });
}

function withOwnRequests(options: Modem.ConstructorOptions): Docker {
  // The client's types do not know that it takes its modem from outside.
  return new Docker({ modem: engineModem(options) } as Docker.DockerOptions);
}

/** An image by a name from outside, which becomes a part of the engine's address. @throws BadInputError */
export function imageAt(docker: Docker, name: string): Docker.Image {
  requireImageReference(name);
  return docker.getImage(name.split('/').map(encodeURIComponent).join('/'));
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

/*
 * The one place that tells "the machinery failed" from "the command failed".
 *
 * A verdict about a patch may only come from a command that demonstrably ran to its end in a living container. All that
 * reaches this file is something else: an HTTP error of the engine, or no answer at all. Nothing here may become an exit
 * code, because a missing exit code read as 0 is a pass nobody earned, and read as 1 a failure nobody caused.
 *
 *   the socket is absent, refused, reset, or silent      the engine is down       EngineUnavailableError, retry later
 *   "no space left on device" in an engine message       the engine's own disk    EngineDiskFullError, a person must act
 *       (a command that meets ENOSPC prints it on its own stderr and never comes by here)
 *   404 while we ask for an image                        nobody pulled it         ImageMissingError
 *   404, 409 or "is not running" about our container     removed, expired, died   SandboxLostError, fresh container
 *   the image cannot run `sh`                            wrong image              BadInputError
 *   any other HTTP error                                 the engine is confused   EngineUnavailableError
 *   anything without a status or a socket code           a bug of ours            handed on unchanged
 */

/** What the failed call was about. */
export type Subject = { readonly image: string } | { readonly container: string };

const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOENT',
  'EACCES',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

interface EngineError {
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly name?: unknown;
}

/** Turns whatever dockerode threw into one of our errors. */
export function dockerFailure(error: unknown, subject: Subject): Error {
  if (!(error instanceof Error)) return new EngineUnavailableError(String(error));
  if (error instanceof BestkError) return error;
  const { code, statusCode, name } = error as EngineError;
  const options = { cause: error };
  if (name === 'AbortError' || name === 'TimeoutError') return new EngineUnavailableError('no answer in time', options);
  if (typeof statusCode === 'number') return statusFailure(statusCode, error, subject);
  if (typeof code === 'string' && SOCKET_CODES.has(code)) return new EngineUnavailableError(error.message, options);
  if (/socket hang up|socket connection was closed|aborted/.test(error.message)) {
    return new EngineUnavailableError(error.message, options);
  }
  return error;
}

function statusFailure(statusCode: number, error: Error, subject: Subject): Error {
  const message = error.message.trim();
  const options = { cause: error };
  if (/no space left on device|disk quota exceeded/i.test(message)) return new EngineDiskFullError(message, options);
  if ('image' in subject) {
    const missing = statusCode === 404 || /invalid reference format/i.test(message);
    return missing ? new ImageMissingError(subject.image) : new EngineUnavailableError(message, options);
  }
  if (/executable file not found|exec: "?(\/bin\/)?sh"?: (stat|no such)/i.test(message)) {
    return new BadInputError(`the image has no /bin/sh (${message})`, { field: 'environment.image' });
  }
  const gone = /is not running|stopped state|no such (container|exec)|marked for removal|is dead/i.test(message);
  if (gone || statusCode === 404 || statusCode === 409) return new SandboxLostError(message, options);
  return new EngineUnavailableError(message, options);
}

/** True when the engine says that the thing to remove is gone, or is being removed by somebody else. */
export function isAlreadyGone(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { statusCode } = error as EngineError;
  return statusCode === 404 || (statusCode === 409 && /already in progress/i.test(error.message));
}
