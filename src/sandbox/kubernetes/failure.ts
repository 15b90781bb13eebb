import { DeadlineError, unlimitedListeners } from '../../core/async/time.js';
import {
  EngineUnavailableError,
  ImagePullError,
  SandboxEvictedError,
  SandboxExpiredError,
  SandboxLostError,
  SandboxOutOfMemoryError,
  SandboxUnschedulableError,
} from '../../core/errors/unavailable.js';
import { BadInputError, BestkError } from '../../core/errors/errors.js';
import { asJson } from '../../core/json.js';
import type { Fate } from '../container/container.js';
import { type ContainerStatus, type Pod, TOO_MANY_FILES } from './pod-spec.js';

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
  // Node's abort errors have small numeric codes, below those of HTTP.
  if (typeof code === 'number' && code >= 100) return code;
  if (typeof statusCode === 'number') return statusCode;
  // The web socket's client gives the status only in its message.
  const said = /Unexpected server response: (\d{3})/.exec(error instanceof Error ? error.message : '');
  return said === null ? null : Number(said[1]);
}

/** The API server's own words; empty if it did not answer. */
function answerOf(error: unknown): { readonly message?: unknown; readonly reason?: unknown } {
  const { body } = (error ?? {}) as ApiError;
  return (typeof body === 'string' ? asJson(body) : body) ?? {};
}

/** The API server's message, or the error of the connection. */
export function messageOf(error: unknown): string {
  const said = answerOf(error).message;
  if (typeof said === 'string' && said !== '') return said;
  return error instanceof Error ? error.message : String(error);
}

/** There is an object of this name. The server also uses 409 for writes that it did not make, such as those to a busy quota. */
export function isAlreadyThere(error: unknown): boolean {
  return statusOf(error) === 409 && answerOf(error).reason === 'AlreadyExists';
}

/** Whether a retry may succeed: no answer, too many requests, a conflict with another write, or a server error. */
export function isPassing(error: unknown): boolean {
  const status = statusOf(error);
  if (status === 409) return !isAlreadyThere(error);
  if (status !== null) return status === 429 || status >= 500;
  if (error instanceof DeadlineError) return true;
  const { code } = error as ApiError;
  return typeof code === 'string' && /^(E[A-Z_]+|UND_ERR_\w+)$/.test(code);
}

/** The delay that the server asked for. */
export function askedMs(error: unknown): number | null {
  const seconds = Number((error as ApiError).headers?.['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null;
}

/** The namespace's quota has no room for another pod until one ends. */
export function isOverQuota(error: unknown): boolean {
  return statusOf(error) === 403 && /exceeded quota/.test(messageOf(error));
}

/** Converts any error of a cluster call into a BestkError. */
export function clusterFailure(error: unknown): Error {
  if (error instanceof BestkError) return error;
  return new EngineUnavailableError(messageOf(error), { cause: error, next: NEXT });
}

const LOOK_MS = 1_000;
/** How long the kubelet may retry pulling from a registry with transient failures. */
const PULL_MS = 60_000;
/** While the kubelet waits before its next attempt, older versions no longer give the cause. */
const NO_CAUSE = /Back-off pulling image "[^"]*"$/;
const notInTime = (): BestkError => new SandboxUnschedulableError('the cluster did not start it in time');

/**
 * How long a pod may take to start. While other pods of bestk run, the cluster is full rather than stuck, so the limit
 * counts only time without any; an image that cannot be pulled fails independently of that.
 */
export class StartPatience {
  readonly signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #idleSince = performance.now();
  #pullSince: number | null = null;
  #trouble: BestkError = notInTime();

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

  /** @param failed null if no pull has failed, or one succeeded after that */
  pulling(failed: ImagePullError | null): void {
    if (failed === null) {
      this.#pullSince = null;
      if (this.#trouble instanceof ImagePullError) this.#trouble = notInTime();
      return;
    }
    if (this.#pullSince === null || !NO_CAUSE.test(failed.message)) this.#trouble = failed;
    this.#pullSince ??= performance.now();
    if (!failed.retryable) this.fail(failed);
  }

  /** Gives up waiting. */
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

/*
 * The meaning of a pod's status, as a pure function: the only place that knows the cluster's reasons by name.
 *
 *   PodScheduled False, Unschedulable            waiting     until a node has room, or SandboxUnschedulableError
 *   ErrImagePull, ImagePullBackOff               waiting     ImagePullError once the kubelet has tried for a while
 *   ErrImageNeverPull, InvalidImageName          over        ImagePullError
 *   Create…Error that names seccomp              over        EngineUnavailableError: the node lacks the profile
 *   Create…Error, RunContainerError, StartError  over        BadInputError: the image, not the cluster
 *   OutOfcpu, OutOfpods, NodeAffinity, …         rejected    the node changed after it was chosen: create another pod
 *   OOMKilled                                    over        out of memory
 *   Evicted for its own disk                     over        out of disk
 *   Evicted otherwise, NodeLost, deleted         over        SandboxEvictedError
 *   exit 97 of the first process                 over        out of disk: too many files
 *   DeadlineExceeded, Completed                  over        SandboxExpiredError
 */

export type PodState =
  | { readonly kind: 'waiting'; readonly unschedulable: string | null; readonly pull: ImagePullError | null }
  | { readonly kind: 'running' }
  | { readonly kind: 'rejected'; readonly detail: string }
  | { readonly kind: 'over'; readonly error: BestkError; readonly fate: Fate | null };

const OWN_DISK = /exceed\w* (its local ephemeral|the total limit|the limit)|local storage usage exceeds/;
const REJECTED = /^(OutOf\w+|NodeAffinity|NodePorts|UnexpectedAdmissionError|Outof\w+|Preempting|NodeShutdown)$/;
const PULLING = /^(ErrImagePull|ImagePullBackOff|RegistryUnavailable)$/;
const NEVER_PULLED = /^(ErrImageNeverPull|InvalidImageName|ImageInspectError)$/;
const NEVER_STARTED = /^(CreateContainer\w*Error|RunContainerError)$/;
const NO_PROFILE = /seccomp (?:profile|spec)/i;
const NOT_THERE = /: not found|does not exist|manifest unknown|access denied|unauthorized|authorization failed/i;

/** State of a pod; null = the pod no longer exists. */
export function stateOf(pod: Pod | null): PodState {
  if (pod === null) return over(new SandboxEvictedError('its pod was deleted'));
  if (pod.metadata?.deletionTimestamp !== undefined) return over(new SandboxEvictedError('its pod is being deleted'));
  const ended = podEnd(pod) ?? containerEnd(pod);
  if (ended !== null) return ended;
  if (containerOf(pod)?.state?.running !== undefined) return { kind: 'running' };
  return { kind: 'waiting', unschedulable: unschedulable(pod), pull: pullTrouble(pod) };
}

function containerOf({ status }: Pod): ContainerStatus | undefined {
  return status?.containerStatuses?.[0];
}

/** Why the container is not running yet. */
function waitingFor(pod: Pod): { readonly reason: string; readonly message: string } {
  const { reason = '', message = reason } = containerOf(pod)?.state?.waiting ?? {};
  return { reason, message };
}

/**
 * Content id of a pod's image, and the name by which any node can pull exactly that content; null before it is known.
 */
export function imageOf(pod: Pod): { readonly id: string; readonly name: string } | null {
  const name = (containerOf(pod)?.imageID ?? '').replace(/^[a-z-]+:\/\//, '');
  const id = /sha256:[0-9a-f]{64}$/.exec(name)?.[0];
  return id === undefined ? null : { id, name };
}

function over(error: BestkError, fate: Fate | null = null): PodState {
  return { kind: 'over', error, fate };
}

function podEnd({ status }: Pod): PodState | null {
  const { reason = '', message = '', phase } = status ?? {};
  if (reason === '' || (phase !== 'Failed' && reason !== 'NodeLost')) return null;
  return failedFor(reason, message);
}

function failedFor(reason: string, message: string): PodState {
  if (reason === 'DeadlineExceeded') return over(new SandboxExpiredError('its time was over'));
  if (REJECTED.test(reason)) return { kind: 'rejected', detail: `${reason}: ${message}` };
  const fate = reason === 'Evicted' && OWN_DISK.test(message) ? 'out-of-disk' : null;
  return over(new SandboxEvictedError(`${reason}: ${message}`), fate);
}

function containerEnd(pod: Pod): PodState | null {
  const terminated = containerOf(pod)?.state?.terminated;
  if (terminated !== undefined) {
    return terminatedState(terminated.reason ?? '', terminated.message ?? '', terminated.exitCode);
  }
  const { reason, message } = waitingFor(pod);
  if (NEVER_PULLED.test(reason)) return over(new ImagePullError(imageAskedFor(pod), `${reason}: ${message}`, false));
  if (!NEVER_STARTED.test(reason)) return null;
  return over(NO_PROFILE.test(message) ? profileMissing(message) : startFailure(message));
}

function imageAskedFor({ spec }: Pod): string {
  return spec?.containers[0]?.image ?? '';
}

function terminatedState(reason: string, message: string, exitCode: number): PodState {
  if (reason === 'OOMKilled')
    return over(new SandboxOutOfMemoryError('the kernel killed it for memory'), 'out-of-memory');
  if (reason === 'StartError' || reason === 'ContainerCannotRun') return over(startFailure(message));
  if (exitCode === TOO_MANY_FILES) return over(new SandboxLostError('it made too many files'), 'out-of-disk');
  if (reason === 'Completed') return over(new SandboxExpiredError('its time was over'));
  return over(new SandboxLostError(`its first process ended with ${String(exitCode)} (${reason})`));
}

function profileMissing(message: string): EngineUnavailableError {
  return new EngineUnavailableError(`a node cannot load the seccomp profile of sandboxes (${message})`, {
    next:
      'Apply deploy/kubernetes/seccomp.yaml, which puts the profile on every node; or run sandboxes with the weaker ' +
      'profile of the container runtime: securityContext: { seccompProfile: { type: RuntimeDefault } } in BESTK_KUBERNETES_POD.',
  });
}

function startFailure(message: string): BadInputError {
  const shell = /\/bin\/sh/.test(message) ? 'the image has no /bin/sh' : 'the image does not start';
  return new BadInputError(`${shell} (${message})`, { field: 'environment.image' });
}

function unschedulable({ status }: Pod): string | null {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return scheduled?.status === 'False' ? (scheduled.message ?? scheduled.reason ?? 'no reason given') : null;
}

function pullTrouble(pod: Pod): ImagePullError | null {
  const { reason, message } = waitingFor(pod);
  if (!PULLING.test(reason)) return null;
  return new ImagePullError(imageAskedFor(pod), message, !NOT_THERE.test(message));
}
