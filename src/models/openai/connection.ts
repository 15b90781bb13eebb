import type OpenAI from 'openai';
import { ModelUnavailableError } from '../../core/errors/unavailable.js';
import { asSmallJson } from '../../core/json.js';
import { readBeginning } from './answer-body.js';
import { ModelProbe } from '../../ports/llm-client.js';

/** Error messages may repeat the whole request; what matters stands before it. */
const MAX_ERROR_BYTES = 256 * 1024;
const MAX_ERROR_VALUES = 10_000;
/** Of a message that is not JSON, or more of it than any error needs. */
const MAX_MESSAGE_CHARS = 2_000;
export const DEFAULT_BASE_URL = 'https://api.openai.com/v1';

export interface OpenAiEndpoint {
  /** Up to and including the version, e.g. `http://localhost:8000/v1`. */
  readonly baseUrl?: string | undefined;
  /** Absent = send no Authorization header. */
  readonly apiKey?: string | undefined;
}

/**
 * The SDK without its own retries, logs and environment look-ups, on undici's fetch without header and body time-outs, since
 * the adapter controls timing. Loaded on first use, so that commands without model calls do not pay for it.
 */
export async function connect({ baseUrl, apiKey }: OpenAiEndpoint, timeoutMs: number): Promise<OpenAI> {
  const [sdk, undici] = await Promise.all([import('openai'), import('undici')]);
  const dispatcher = new undici.Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { status, ok, headers, body } = await undici.fetch(url, {
      ...init,
      // Only the configured server may get the prompts.
      redirect: 'manual',
      dispatcher,
    } as import('undici').RequestInit);
    const elsewhere = headers.get('location');
    if (status >= 300 && status < 400 && elsewhere !== null) {
      await body?.cancel();
      return errorReply(status, headers, `it redirects to ${elsewhere}; name that address if the server is yours`);
    }
    const fault = whyUnusable(status, headers.get('content-encoding') ?? '');
    if (fault !== null) {
      await body?.cancel();
      return errorReply(BAD_GATEWAY, [], fault);
    }
    const response = new Response(body as ReadableStream<Uint8Array> | null, { status, headers: [...headers] });
    return ok ? response : await withErrorMember(response);
  };
  return new sdk.OpenAI({
    baseURL: baseUrl ?? DEFAULT_BASE_URL,
    // The SDK requires a key; the null header keeps it from being sent.
    apiKey: apiKey ?? 'none',
    ...(apiKey === undefined ? { defaultHeaders: { authorization: null } } : {}),
    adminAPIKey: null,
    organization: null,
    project: null,
    maxRetries: 0,
    // The SDK's limit covers only the headers; the adapter's limit also covers the body and must fire first.
    timeout: timeoutMs + 60_000,
    logLevel: 'off',
    fetch: (url, init) => fetch(url instanceof Request ? url.url : String(url), init as RequestInit),
  });
}

const BAD_GATEWAY = 502;
/** `Response` has no higher ones. */
const MAX_STATUS = 599;

/** Several codings can hold endless work in few bytes; no server of models uses them. */
function whyUnusable(status: number, coding: string): string | null {
  if (status > MAX_STATUS) return `it answered with the status ${status}`;
  return coding.includes(',') ? `it answered with several content codings: ${coding.slice(0, 80)}` : null;
}

function errorReply(status: number, headers: Iterable<[string, string]>, message: string): Response {
  return new Response(JSON.stringify({ error: { message } }), { status, headers: [...headers] });
}

/** SGLang and FastAPI report errors outside of `error`, the only member the SDK reads. */
async function withErrorMember(response: Response): Promise<Response> {
  const { status, headers } = response;
  const text = await readBeginning(response, MAX_ERROR_BYTES);
  const body = asSmallJson(text, MAX_ERROR_VALUES);
  if (typeof body !== 'object' || body === null) {
    return text === '' ? new Response(null, { status, headers }) : errorReply(status, headers, firstWords(text));
  }
  return new Response(JSON.stringify('error' in body ? body : { error: body }), { status, headers });
}

function firstWords(text: string): string {
  return text.slice(0, MAX_MESSAGE_CHARS).trim();
}

const FIRST_SERVER_ERROR = 500;
const REFUSED = new Set([401, 403]);

export interface ProbedServers {
  /** Base URLs up to and including the version, only those of configured models. */
  readonly baseUrls: readonly string[];
  readonly apiKey: string | undefined;
}

/** Requests the model list of each server. A server without one also counts as available. */
export class HttpModelProbe extends ModelProbe {
  readonly #servers: ProbedServers;

  constructor(servers: ProbedServers) {
    super();
    this.#servers = servers;
  }

  async check(signal: AbortSignal): Promise<void> {
    const { baseUrls } = this.#servers;
    await Promise.all([...new Set(baseUrls)].map((baseUrl) => this.#ask(new URL(baseUrl), signal)));
  }

  async #ask(baseUrl: URL, signal: AbortSignal): Promise<void> {
    const { apiKey } = this.#servers;
    const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const url = `${baseUrl.origin}${baseUrl.pathname.replace(/\/$/, '')}/models`;
    const answer = await fetch(url, { headers, signal, redirect: 'manual' }).catch((error: unknown) => {
      throw new ModelUnavailableError(`${baseUrl.host} does not answer`, { cause: error });
    });
    await answer.body?.cancel();
    if (REFUSED.has(answer.status)) throw new ModelUnavailableError(`${baseUrl.host} refuses the API key`);
    if (answer.status >= FIRST_SERVER_ERROR)
      throw new ModelUnavailableError(`${baseUrl.host} answers ${answer.status}`);
  }
}
