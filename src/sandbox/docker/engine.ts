import { pause } from '../../core/async/time.js';
import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { addAbortSignal, Duplex } from 'node:stream';
import Modem from 'docker-modem';
import Docker from 'dockerode';
import { BadInputError, BestkError } from '../../core/errors/errors.js';
import {
  EngineDiskFullError,
  EngineUnavailableError,
  ImageMissingError,
  SandboxLostError,
  SandboxRefusedError,
} from '../../core/errors/unavailable.js';
import { requireImageReference } from '../../core/run/issue.js';

/** Time limit of one call to the engine; streams of a running command are not calls. */
const CALL_TIMEOUT_MS = 60_000;

/**
 * A client for `unix:///path`, `npipe:////./pipe/name`, `tcp://host:port` or `http(s)://host:port`; undefined means the
 * default socket. Always passes an explicit address, because dockerode would otherwise read DOCKER_HOST itself.
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
  // The client's types do not declare that it accepts a modem.
  return new Docker({ modem: engineModem(options) } as Docker.DockerOptions);
}

/** Gets an image by an untrusted name, which becomes part of the request's path. @throws BadInputError */
export function imageAt(docker: Docker, name: string): Docker.Image {
  requireImageReference(name);
  return docker.getImage(name.split('/').map(encodeURIComponent).join('/'));
}

/** One call to the engine, with its errors converted. The deadline also ends calls that ignore the signal. */
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
 * The only place that distinguishes failed infrastructure from a failed command.
 *
 * A verdict about a patch may only come from a command that demonstrably ran to its end in a living container.
 * Everything that reaches this file is something else: an HTTP error of the engine, or no answer at all. None of it may
 * become an exit code, because a missing code read as 0 would be a false pass, and read as 1 a false failure.
 *
 *   the socket is absent, refused, reset, or silent      the engine is down       EngineUnavailableError, retry later
 *   "no space left on device" in an engine message       the engine's own disk    EngineDiskFullError, needs a person
 *       (a command that meets ENOSPC prints it on its own stderr, which does not reach this file)
 *   404 on a request for an image                        it was not pulled        ImageMissingError
 *   400 when a container is made, e.g. too many CPUs     a wrong setting          SandboxRefusedError
 *   404, 409 or "is not running" about a container       removed, expired, died   SandboxLostError, fresh container
 *   the image cannot run `sh`                            wrong image              BadInputError
 *   any other HTTP error                                 an engine fault          EngineUnavailableError
 *   anything without a status or a socket code           a bug in bestk           rethrown unchanged
 */

/** The object of the failed call. */
type Subject = { readonly image: string; readonly creates?: true } | { readonly container: string };

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

/** Converts any error of dockerode into a BestkError; errors that indicate a bug are returned unchanged. */
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
  if ('image' in subject) return imageFailure(statusCode, message, subject, options);
  if (/executable file not found|exec: "?(\/bin\/)?sh"?: (stat|no such)/i.test(message)) {
    return new BadInputError(`the image has no /bin/sh (${message})`, { field: 'environment.image' });
  }
  const gone = /is not running|stopped state|no such (container|exec)|marked for removal|is dead/i.test(message);
  if (gone || statusCode === 404 || statusCode === 409) return new SandboxLostError(message, options);
  return new EngineUnavailableError(message, options);
}

function imageFailure(
  statusCode: number,
  message: string,
  { image, creates }: Extract<Subject, { readonly image: string }>,
  options: ErrorOptions,
): Error {
  if (statusCode === 404 || /invalid reference format/i.test(message)) return new ImageMissingError(image);
  if (statusCode === 400 && creates === true) return new SandboxRefusedError(image, message, options);
  return new EngineUnavailableError(message, options);
}

/** True if the engine reports that the object to remove is gone or is already being removed. */
export function isAlreadyGone(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { statusCode } = error as EngineError;
  return statusCode === 404 || (statusCode === 409 && /already in progress/i.test(error.message));
}

/** Limit of a buffered answer; larger ones are requested as a stream. */
const LARGEST_ANSWER = 32 * 1024 * 1024;

/** No request in this adapter has a stream as its body. */
type Data = string | Buffer | undefined;
type Done = (error: unknown, answer: unknown) => void;

/** A method that docker-modem's types hide: it sends the request that `dial` has described. */
interface Sending {
  readonly protocol: string;
  buildRequest(options: RequestOptions, call: Modem.DialOptions, data: Data, done: Done): void;
}

/**
 * A docker-modem with its own way of sending requests. The original follows redirects to any host over connections
 * without error listeners, which would end the process, and buffers answers of any size.
 */
function engineModem(options: Modem.ConstructorOptions): Modem {
  const modem = new Modem(options);
  const sending = modem as unknown as Sending;
  sending.buildRequest = (asked, call, data, done) => {
    answerTo(sending.protocol === 'https' ? https : http, asked, call, data).then(
      (answer) => {
        done(null, answer);
      },
      (error: unknown) => {
        done(error, null);
      },
    );
  };
  return modem;
}

/** @returns a hijacked connection, a stream, or the whole answer: as JSON if possible, else text */
async function answerTo(
  { request: ask }: Pick<typeof http, 'request'>,
  asked: RequestOptions,
  call: Modem.DialOptions,
  data: Data,
): Promise<unknown> {
  const request = ask(asked);
  // Stays attached, since errors may also occur when no caller waits any more.
  request.on('error', () => undefined);
  const answered = Promise.race([responseTo(request), ...(call.hijack === true ? [handedOver(request)] : [])]);
  if (data !== undefined) request.write(data);
  if (call.openStdin !== true) request.end();
  const answer = await answered;
  if (answer instanceof Duplex) return answer;
  if (asked.signal !== undefined) addAbortSignal(asked.signal, answer);
  return contentOf(answer, call).finally(() => {
    // Refused, a request whose input is not over would keep its connection open for ever.
    if (!request.writableEnded) request.destroy();
  });
}

/** @throws an error with the unexpected status, worded as by docker-modem */
async function contentOf(answer: IncomingMessage, { isStream, statusCodes }: Modem.DialOptions): Promise<unknown> {
  const { statusCode = 0 } = answer;
  const meaning = statusCodes?.[statusCode] ?? 'unexpected';
  if (meaning === true && isStream === true) return answer;
  const said = await wholeOf(answer);
  if (meaning === true) return said;
  throw Object.assign(new Error(`(HTTP code ${statusCode}) ${meaning} - ${reasonIn(said)}`), { statusCode });
}

async function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

async function handedOver(request: ClientRequest): Promise<Duplex> {
  const [, socket, head] = (await once(request, 'upgrade')) as [IncomingMessage, Duplex, Buffer];
  socket.on('error', () => undefined);
  if (head.length > 0) socket.unshift(head);
  return socket;
}

async function wholeOf(answer: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_ANSWER) throw new EngineUnavailableError(`its answer is larger than ${LARGEST_ANSWER} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function reasonIn(said: unknown): string {
  const { message } = Object(said) as { readonly message?: unknown };
  return typeof message === 'string' ? message : JSON.stringify(said);
}

const ASK_AGAIN_MS = 10_000;

/** Finds the data directory of a local engine; null if the engine is remote, or while it does not answer. */
export function dockerRoot(dockerHost: string | undefined): () => Promise<string | null> {
  const isLocal = dockerHost === undefined || dockerHost.startsWith('unix:');
  if (!isLocal) return () => Promise.resolve(null);
  const docker = connectDocker(dockerHost);
  let root: string | null = null;
  let asked: { readonly at: number; readonly answer: Promise<void> } | null = null;
  const ask = async (): Promise<void> => {
    const info = await engineCall<unknown>({ container: 'info' }, () => docker.info()).catch(() => null);
    root = (info as { DockerRootDir?: string } | null)?.DockerRootDir ?? null;
  };
  return async () => {
    const isDue = asked === null || (root === null && asked.at + ASK_AGAIN_MS < performance.now());
    if (isDue) asked = { at: performance.now(), answer: ask() };
    await asked?.answer;
    return root;
  };
}

/** Whether the engine recorded an out-of-memory kill in this container, running or not, in the last `ms`. */
export async function hasOomEvent(docker: Docker, id: string, ms: number): Promise<boolean> {
  return engineCall({ container: id }, async (abortSignal) => {
    // Uses the engine's clock: it would wait until an `until` in its future has passed.
    const { SystemTime } = (await docker.info()) as { SystemTime: string };
    const now = Math.floor(Date.parse(SystemTime) / 1000);
    // The engine keeps its last few hundred events; `until` is slightly ahead to include an event still being recorded.
    const stream = await docker.getEvents({
      since: now - Math.ceil(ms / 1000) - 1,
      until: now + 1,
      filters: { container: [id], event: ['oom'] },
      abortSignal,
    });
    for await (const event of stream) return event.length > 0;
    return false;
  });
}

const PAUSE_MS = 1_000;

/**
 * Waits for an engine that answered before and is restarting or out of space. One that never answered fails at once,
 * since Docker was probably not started, or DOCKER_HOST is wrong.
 */
export class RetryUntilAvailable {
  /** Whether the engine has answered. */
  wasThere = false;

  /** @param patienceMs how long to wait for an engine that has become unavailable */
  constructor(private readonly patienceMs: number) {}

  /** @param look must be repeatable @throws what `look` throws, and the signal's reason */
  async wait<T>(look: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (const start = performance.now(); ;) {
      signal.throwIfAborted();
      try {
        const seen = await look();
        this.wasThere = true;
        return seen;
      } catch (error) {
        const hope = this.wasThere && performance.now() - start < this.patienceMs;
        const passes = error instanceof EngineUnavailableError || error instanceof EngineDiskFullError;
        if (!passes || !hope) throw error;
      }
      await pause(PAUSE_MS, signal);
    }
  }
}
