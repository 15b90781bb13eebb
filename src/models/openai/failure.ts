import { z } from 'zod';
import { DeadlineError } from '../../core/async/time.js';
import type { Completion } from '../../ports/llm-client.js';
import { saysOverflow } from './overflow.js';
import { UnreadableReplyError } from './reply.js';

/** Why one attempt gave no completion. */
export interface Failure {
  readonly detail: string;
  /** The parameter that the server names as the cause; '' when it names none. */
  readonly param: string;
  /** The category used in metrics. */
  readonly kind: 'rate-limited' | 'server-error' | 'refused' | 'no-answer';
  readonly retryable: boolean;
  readonly usage: Completion['usage'];
  /** Waiting helps: the server, or the one behind a proxy, was unreachable, or has too many calls. */
  readonly away: boolean;
  /** The delay that the server requested; null when it gave none. */
  readonly retryAfterMs: number | null;
  /** The server does not take this request, whoever sends it. */
  readonly rejected: boolean;
  /** Undefined when the server did not answer. */
  readonly status: number | undefined;
  /** Prompt and requested answer exceed the model's context. */
  readonly tooLong: boolean;
  /** The model spent all its answer tokens on reasoning, which OpenAI reports as an error. */
  readonly cutWithinThoughts: boolean;
}

const RETRYABLE_STATUS = new Set([408, 409, 429]);
const REJECTED_STATUS = new Set<number | undefined>([400, 413, 422]);
/** Some servers answer an overflow with 500, too. */
const OVERFLOW_STATUS = new Set<number | undefined>([...REJECTED_STATUS, 500]);
const AWAY_STATUS = new Set([429, 502, 503, 504, 529]);
/** The code of a 429 that no waiting helps: the account has no money left. */
const NO_QUOTA = 'insufficient_quota';
const CUT = /could not finish the message because max_(completion_)?tokens/i;
const MAX_DETAIL = 500;

/**
 * The only place that classifies failures. A status comes from the server: 408, 409, 429 and 5xx are temporary, other 4xx are
 * not. Failures without one (refused or reset connections, time-outs, truncated JSON, a gateway's HTML page) belong to the
 * transport and may be temporary.
 */
export function describeFailure(error: unknown, secrets: readonly string[], now: number): Failure {
  const answer = statusOf(error);
  const { status, headers, code = '', param = '' } = answer;
  const rejected = REJECTED_STATUS.has(status);
  const detail = secrets.reduce((text, secret) => text.replaceAll(secret, '[hidden]'), describe(error));
  const tooLong = OVERFLOW_STATUS.has(status) && saysOverflow(`${code} ${detail}`);
  return {
    kind: kindOf(status),
    param,
    detail: detail.length > MAX_DETAIL ? `${detail.slice(0, MAX_DETAIL)}…` : detail,
    retryable: !tooLong && isTemporary(status),
    usage: error instanceof UnreadableReplyError ? error.usage : null,
    away: isAway(error, answer),
    retryAfterMs: headers === undefined ? null : retryAfter(headers, now),
    rejected,
    status,
    tooLong,
    cutWithinThoughts: status === 400 && CUT.test(detail),
  };
}

function isTemporary(status: number | undefined): boolean {
  return status === undefined || status >= 500 || RETRYABLE_STATUS.has(status);
}

function isAway(error: unknown, { status, code }: ReturnType<typeof statusOf>): boolean {
  return status === undefined ? !isAnswer(error) : AWAY_STATUS.has(status) && code !== NO_QUOTA;
}

function kindOf(status: number | undefined): Failure['kind'] {
  if (status === undefined) return 'no-answer';
  if (status === 429) return 'rate-limited';
  return status >= 500 ? 'server-error' : 'refused';
}

// Matched by shape, not by class: the SDK is loaded late, and its errors wrap those of fetch and of the socket.
const StatusError = z.object({
  status: z.number(),
  headers: z.custom<Headers>().optional(),
  code: z.string().optional().catch(undefined),
  param: z.string().optional().catch(undefined),
  /** OpenRouter's place for the words of the service behind it. */
  error: z
    .object({ metadata: z.object({ raw: z.string() }) })
    .optional()
    .catch(undefined),
});
const Thrown = z.object({
  name: z.string(),
  message: z.string(),
  code: z.unknown().optional(),
  cause: z.unknown().optional(),
});

/** Whether the server was reachable: it sent something unreadable, or did not answer in time. */
function isAnswer(error: unknown): boolean {
  if (error instanceof DeadlineError || error instanceof UnreadableReplyError) return true;
  return causes(error)[0]?.name === 'SyntaxError';
}

function statusOf(error: unknown): Partial<z.infer<typeof StatusError>> {
  return StatusError.safeParse(error).data ?? {};
}

function describe(error: unknown): string {
  if (error instanceof DeadlineError || error instanceof UnreadableReplyError) return error.message;
  const chain = causes(error);
  if (chain[0]?.name === 'SyntaxError') return `its answer is cut or no JSON (${chain[0].message})`;
  const raw = statusOf(error).error?.metadata.raw ?? '';
  const words = [...new Set([...chain.map(wordsOf), raw])].filter((text) => text !== '');
  return words.length === 0 ? String(error) : words.join(': ');
}

/** The error and its chain of causes: the socket's own message is two or three levels down. */
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
