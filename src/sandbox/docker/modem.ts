import { once } from 'node:events';
import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { addAbortSignal, Duplex } from 'node:stream';
import Modem from 'docker-modem';
import { EngineUnavailableError } from '../../core/errors/unavailable.js';

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
export function engineModem(options: Modem.ConstructorOptions): Modem {
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
