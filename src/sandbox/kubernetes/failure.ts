import { unlimitedListeners } from '../../core/async/deadline.js';
import { type ImagePullError, SandboxUnschedulableError } from '../../core/errors/cluster-trouble.js';
import { BestkError } from '../../core/errors/errors.js';
import { EngineUnavailableError } from '../../core/errors/unavailable.js';

const NEXT = 'Check the cluster, the kubeconfig and the rights of its account, then run `bestk doctor`.';

interface ApiError {
  /** An HTTP status, or the code of a socket error. */
  readonly code?: unknown;
  readonly statusCode?: unknown;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** HTTP status of a failed call; null when there was no answer. */
export function statusOf(error: unknown): number | null {
  const { code, statusCode } = (error ?? {}) as ApiError;
  // An abort has a number of its own, below those of HTTP.
  if (typeof code === 'number' && code >= 100) return code;
  if (typeof statusCode === 'number') return statusCode;
  // The web socket's client has it only in its words.
  const said = /Unexpected server response: (\d{3})/.exec(error instanceof Error ? error.message : '');
  return said === null ? null : Number(said[1]);
}

/** What the API server said, or what became of the connection. */
export function messageOf(error: unknown): string {
  const { body } = (error ?? {}) as ApiError;
  const status = typeof body === 'string' ? parsed(body) : body;
  const said = (status as { message?: unknown } | null | undefined)?.message;
  if (typeof said === 'string' && said !== '') return said;
  return error instanceof Error ? error.message : String(error);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether the same call may do better later: no answer, too many requests, or trouble of the server's own. */
export function isPassing(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== null) return status === 429 || status >= 500;
  const { code } = error as ApiError;
  return typeof code === 'string' && /^(E[A-Z_]+|UND_ERR_\w+)$/.test(code);
}

/** How long the server asked to be left alone. */
export function askedMs(error: unknown): number | null {
  const seconds = Number((error as ApiError).headers?.['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null;
}

/** The quota of the namespace has no room for another pod; there will be some when one ends. */
export function isOverQuota(error: unknown): boolean {
  return statusOf(error) === 403 && /exceeded quota/.test(messageOf(error));
}

/** Whatever a call to the cluster threw, as an error of ours. */
export function clusterFailure(error: unknown): Error {
  if (error instanceof BestkError) return error;
  return new EngineUnavailableError(messageOf(error), { cause: error, next: NEXT });
}

const LOOK_MS = 1_000;
/** How long the kubelet may go on trying to pull from a registry that has trouble of its own. */
const PULL_MS = 60_000;

/**
 * How long a pod may take to start. While pods of ours run, the cluster is not stuck but full, and the wait is as long as
 * theirs; an image that cannot be pulled waits for nobody.
 */
export class StartPatience {
  readonly signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #idleSince = performance.now();
  #pullSince: number | null = null;
  #trouble: BestkError = new SandboxUnschedulableError('the cluster did not start it in time');

  constructor(
    private readonly startS: number,
    private readonly isBusy: () => boolean,
    signal: AbortSignal,
  ) {
    this.signal = unlimitedListeners(AbortSignal.any([signal, this.#over.signal]));
    this.#timer = setInterval(() => {
      this.#look();
    }, LOOK_MS);
  }

  noRoom(detail: string): void {
    this.#trouble = new SandboxUnschedulableError(detail);
  }

  pullFailed(error: ImagePullError): void {
    this.#pullSince ??= performance.now();
    this.#trouble = error;
    if (!error.retryable) this.fail(error);
  }

  /** Nothing more to wait for. */
  fail(error: BestkError): void {
    this.#over.abort(error);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    const startMs = this.startS * 1000;
    if (this.#pullSince !== null && now - this.#pullSince > Math.min(PULL_MS, startMs)) this.fail(this.#trouble);
    if (this.isBusy()) this.#idleSince = now;
    else if (now - this.#idleSince > startMs) this.fail(this.#trouble);
  }
}
