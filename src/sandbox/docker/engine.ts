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
} from '../../core/errors/unavailable.js';
import { requireImageReference } from '../../core/run/issue.js';

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
type Subject = { readonly image: string } | { readonly container: string };

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

/** Of an answer that is held whole; what may be larger is asked for as a stream. */
const LARGEST_ANSWER = 32 * 1024 * 1024;

/** Of what is called here, no body is a stream. */
type Data = string | Buffer | undefined;
type Done = (error: unknown, answer: unknown) => void;

/** What docker-modem's types keep private: how a request that `dial` described is sent. */
interface Sending {
  readonly protocol: string;
  buildRequest(options: RequestOptions, call: Modem.DialOptions, data: Data, done: Done): void;
}

/**
 * docker-modem that sends its requests itself. The original follows redirects to any host over connections whose errors
 * nobody hears, which ends the process, and holds answers of any size.
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

/** @returns a connection that was handed over, a stream, or all that the engine said: JSON where it is, else text */
async function answerTo(
  { request: ask }: Pick<typeof http, 'request'>,
  asked: RequestOptions,
  call: Modem.DialOptions,
  data: Data,
): Promise<unknown> {
  const request = ask(asked);
  // For good, also when nobody waits any more.
  request.on('error', () => undefined);
  const answered = Promise.race([responseTo(request), ...(call.hijack === true ? [handedOver(request)] : [])]);
  if (data !== undefined) request.write(data);
  if (call.openStdin !== true) request.end();
  const answer = await answered;
  if (answer instanceof Duplex) return answer;
  if (asked.signal !== undefined) addAbortSignal(asked.signal, answer);
  return contentOf(answer, call);
}

/** @throws an error with the status that the call does not expect, as docker-modem words it */
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

/** Asks where an engine on this machine keeps its data; null for one elsewhere, or while it does not answer. */
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

/** Whether the engine saw a kill for lack of memory in this container in the last `ms`, also after its end. */
export async function hasOomEvent(docker: Docker, id: string, ms: number): Promise<boolean> {
  return engineCall({ container: id }, async (abortSignal) => {
    // By its clock, not by ours: it would wait for an `until` that it has yet to come to.
    const { SystemTime } = (await docker.info()) as { SystemTime: string };
    const now = Math.floor(Date.parse(SystemTime) / 1000);
    // The engine keeps its last few hundred events; `until` a little ahead leaves room for one that is still under way.
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
 * Waits for an engine that was there before and restarts, or has no room for the moment; one that never answered is told at once, for then Docker was
 * not started, or DOCKER_HOST is wrong.
 */
export class RetryUntilAvailable {
  private wasThere = false;

  /** @param patienceMs how long an engine that went away is waited for */
  constructor(private readonly patienceMs: number) {}

  /** @param look may be done again @throws what `look` throws, and the signal's reason */
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
