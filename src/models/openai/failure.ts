import { z } from 'zod';
import { DeadlineError } from '../../core/async/deadline.js';
import { UnreadableReplyError } from './reply.js';

/** Why one attempt gave no completion. */
export interface Failure {
  readonly detail: string;
  /** What went wrong, for counting. */
  readonly kind: 'rate-limited' | 'server-error' | 'refused' | 'no-answer';
  readonly retryable: boolean;
  /** Nobody was there to answer, or a proxy's server was not. */
  readonly away: boolean;
  /** What the server asked us to wait; null when it did not say. */
  readonly retryAfterMs: number | null;
  /** The prompt and the answer asked for do not fit into the model's context. */
  readonly tooLong: boolean;
  /** The model used up its answer's tokens on thoughts, which OpenAI tells as an error. */
  readonly cutWithinThoughts: boolean;
}

const RETRYABLE_STATUS = new Set([408, 409, 429]);
const AWAY_STATUS = new Set([502, 503, 504]);
/** How OpenAI, vLLM, SGLang, TGI and llama.cpp say it; there is no common code. */
const TOO_LONG =
  /context_length_exceeded|(maximum|max) (context|model) length|exceeds? the (available|maximum|model'?s) (allowed |context )|longer than the model'?s context|must (be <=|have less than) .{0,40}(tokens|max_)/i;
const CUT = /could not finish the message because max_(completion_)?tokens/i;
const MAX_DETAIL = 500;

/**
 * The only place that tells failures apart. A status is the server's own word: 408, 409, 429 and 5xx pass, the other
 * 4xx do not. Everything without one (refused or reset connections, time-outs, torn JSON, a gateway's HTML page) is
 * the transport's and may pass.
 */
export function describeFailure(error: unknown, secrets: readonly string[], now: number): Failure {
  const { status, headers } = statusOf(error);
  const detail = secrets.reduce((text, secret) => text.replaceAll(secret, '[hidden]'), describe(error));
  return {
    kind: kindOf(status),
    detail: detail.length > MAX_DETAIL ? `${detail.slice(0, MAX_DETAIL)}…` : detail,
    retryable: status === undefined || status >= 500 || RETRYABLE_STATUS.has(status),
    away: status === undefined ? !isAnswer(error) : AWAY_STATUS.has(status),
    retryAfterMs: headers === undefined ? null : retryAfter(headers, now),
    tooLong: status !== undefined && [400, 413, 422].includes(status) && TOO_LONG.test(detail),
    cutWithinThoughts: status === 400 && CUT.test(detail),
  };
}

function kindOf(status: number | undefined): Failure['kind'] {
  if (status === undefined) return 'no-answer';
  if (status === 429) return 'rate-limited';
  return status >= 500 ? 'server-error' : 'refused';
}

// Read by shape, not by class: the SDK is loaded late, and its errors wrap those of fetch and of the socket.
const StatusError = z.object({ status: z.number(), headers: z.custom<Headers>().optional() });
const Thrown = z.object({
  name: z.string(),
  message: z.string(),
  code: z.unknown().optional(),
  cause: z.unknown().optional(),
});

/** Something came back, or did not come in time: somebody was there. */
function isAnswer(error: unknown): boolean {
  if (error instanceof DeadlineError || error instanceof UnreadableReplyError) return true;
  return causes(error)[0]?.name === 'SyntaxError';
}

function statusOf(error: unknown): { status?: number | undefined; headers?: Headers | undefined } {
  return StatusError.safeParse(error).data ?? {};
}

function describe(error: unknown): string {
  if (error instanceof DeadlineError || error instanceof UnreadableReplyError) return error.message;
  const chain = causes(error);
  if (chain[0]?.name === 'SyntaxError') return `its answer is cut or no JSON (${chain[0].message})`;
  const words = [...new Set(chain.map(wordsOf))].filter((text) => text !== '');
  return words.length === 0 ? String(error) : words.join(': ');
}

/** The error and what it says caused it: the socket's own words are two or three levels down. */
function causes(error: unknown): readonly z.infer<typeof Thrown>[] {
  const chain: z.infer<typeof Thrown>[] = [];
  let at = Thrown.safeParse(error);
  while (at.success && chain.length < 4) {
    chain.push(at.data);
    at = Thrown.safeParse(at.data.cause);
  }
  return chain;
}

function wordsOf({ message, code }: z.infer<typeof Thrown>): string {
  if (message !== '') return message;
  return typeof code === 'string' ? code : '';
}

/** `retry-after-ms` in milliseconds, or `Retry-After` in seconds or as an HTTP date. */
function retryAfter(headers: Headers, now: number): number | null {
  const milliseconds = Number.parseFloat(headers.get('retry-after-ms') ?? '');
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds);
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
