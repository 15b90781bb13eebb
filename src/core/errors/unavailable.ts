import { UnavailableError } from './errors.js';

/** The container engine does not answer, or stopped answering during a call. */
export class EngineUnavailableError extends UnavailableError {
  readonly code = 'engine-unavailable';
  readonly retryable = true;

  constructor(detail: string, options?: ErrorOptions & { next?: string }) {
    super(
      `The container engine is not available: ${detail}`,
      options?.next ?? 'Start Docker (or set DOCKER_HOST), then run `bestk doctor`.',
      options,
    );
  }
}

/** The image is not on the engine, and bestk is not allowed to pull it. */
export class ImageMissingError extends UnavailableError {
  readonly code: string = 'image-missing';
  readonly retryable: boolean = false;
  readonly image: string;

  constructor(
    image: string,
    message = `Image "${image}" is not present on the container engine.`,
    next = `Pull or build it first: docker pull ${image}; or let bestk pull missing images (BESTK_PULL=missing).`,
  ) {
    super(message, next);
    this.image = image;
  }
}

/**
 * The engine's own disk stayed full for as long as bestk waits. Unlike a test that fills its quota, this is not a
 * verdict.
 */
export class EngineDiskFullError extends UnavailableError {
  readonly code = 'engine-disk-full';
  readonly retryable = true;

  constructor(detail: string, options?: ErrorOptions) {
    super(
      `The container engine has no space left: ${detail}`,
      'Free disk space (`docker system df`), then run the same command again.',
      options,
    );
  }
}

/** The engine is not willing to make such a container, e.g. with more CPUs than it has; another engine may be. */
export class SandboxRefusedError extends UnavailableError {
  readonly code = 'sandbox-refused';
  readonly retryable = false;

  constructor(image: string, detail: string, options?: ErrorOptions) {
    super(
      `The container engine refuses a sandbox of ${image}: ${detail}`,
      'Correct the image or the limits of sandboxes (BESTK_SANDBOX_…), then run the same command again.',
      options,
    );
  }
}

/** The container ended for a reason other than its command (removed, engine restarted). */
export class SandboxLostError extends UnavailableError {
  readonly code: string = 'sandbox-lost';
  readonly retryable = true;

  constructor(detail: string, options?: ErrorOptions) {
    super(`A sandbox was lost: ${detail}`, 'Nothing to do: the work is repeated in a fresh container.', options);
  }
}

/** Other processes had the CPU: that what ran in the sandbox did not end is not its own doing. */
export class SandboxStarvedError extends SandboxLostError {
  static readonly code = 'sandbox-starved';
  override readonly code = SandboxStarvedError.code;

  constructor(detail: string) {
    super(`the machine was busy: ${detail}`);
  }
}

/** The model endpoint does not answer, or kept failing after the retries. */
export class ModelUnavailableError extends UnavailableError {
  readonly code = 'model-unavailable';
  /** The client has already retried as its server asked; callers must not. */
  readonly retryable = false;
  /** The server does not take this request; others may succeed. */
  readonly refused: boolean;

  constructor(detail: string, options?: ErrorOptions & { refused?: boolean }) {
    super(
      `The model is not available: ${detail}`,
      'Check OPENAI_BASE_URL, OPENAI_API_KEY and the model name, then run `bestk doctor`.',
      options,
    );
    this.refused = options?.refused ?? false;
  }
}

/** The prompt is longer than the model's context; a shorter one may fit. */
export class ContextTooLongError extends UnavailableError {
  readonly code = 'context-too-long';
  readonly retryable = false;

  constructor(detail: string, options?: ErrorOptions) {
    super(
      `The prompt does not fit into the model's context: ${detail}`,
      'Lower the token limit of the prompt, or serve the model with a longer context.',
      options,
    );
  }
}

/** The run's budget has no room for another model call. */
export class BudgetSpentError extends UnavailableError {
  readonly code = 'budget-spent';
  readonly retryable = false;

  constructor(detail: string) {
    super(`The budget is spent: ${detail}`, 'Increase the budget; finished work is stored and not paid for again.');
  }
}

/** The recording that is replayed does not contain the call. */
export class RecordingMissError extends UnavailableError {
  readonly code = 'recording-miss';
  readonly retryable = false;

  constructor(recording: string, key: string) {
    super(
      `Recording "${recording}" does not contain the call ${key}.`,
      'Record again with BESTK_RECORD and an empty store (DATABASE_URL), or unset BESTK_REPLAY to call the model.',
    );
  }
}

/** The store cannot be opened or written. */
export class StoreUnavailableError extends UnavailableError {
  readonly code = 'store-unavailable';
  readonly retryable: boolean;

  constructor(detail: string, options?: ErrorOptions & { retryable?: boolean }) {
    super(`The store is not available: ${detail}`, 'Check DATABASE_URL, free space and permissions.', options);
    this.retryable = options?.retryable ?? true;
  }
}

/** Whether the store may be back soon: the work that met the error has not failed, and whoever reaches the store continues it. */
export function isStoreOutage(error: unknown): boolean {
  return error instanceof StoreUnavailableError && error.retryable;
}

/** A run came to a result that the store cannot hold: one of its numbers is out of range, or it is too large. */
export class UnstorableResultError extends UnavailableError {
  readonly code = 'unstorable-result';
  readonly retryable = false;

  constructor(detail: string, options?: ErrorOptions) {
    super(
      `The result of the run cannot be stored: ${detail}`,
      'If a number is wrong, check what the model server reports; if it is too large, run fewer candidates at once.',
      options,
    );
  }
}

/**
 * The shared queue rejects the connection: wrong password, schema of another version. An unreachable queue is waited
 * for instead.
 */
export class QueueUnavailableError extends UnavailableError {
  readonly code = 'queue-unavailable';
  readonly retryable = false;

  constructor(detail: string, options?: ErrorOptions) {
    super(
      `The queue is not available: ${detail}`,
      'Check BESTK_QUEUE_URL and DATABASE_URL, and the rights of their users.',
      options,
    );
  }
}

/** Resources a machine can run low on; `store` is the file system of an embedded store, `uploads` that of uploads. */
export const RESOURCES = ['engine', 'memory', 'store', 'uploads'] as const;
export type Resource = (typeof RESOURCES)[number];

export interface Level {
  readonly resource: Resource;
  /** Path or host that was measured. */
  readonly place: string;
  readonly freeBytes: number;
  readonly floorBytes: number;
}

const MIB = 1024 * 1024;
const WHAT: Readonly<Record<Resource, string>> = {
  engine: 'disk for containers and images',
  memory: 'memory',
  store: 'disk for the store',
  uploads: 'disk for uploads',
};

/** The machine is below a floor that keeps it usable. Work waits for it; callers that cannot wait get this error. */
export class MachineLowError extends UnavailableError {
  readonly code: 'disk-low' | 'memory-low';
  /** The thrower has already waited. */
  readonly retryable = false;
  readonly resource: Resource;

  constructor({ resource, place, freeBytes, floorBytes }: Level) {
    const setting = resource === 'memory' ? '' : ' (BESTK_MIN_FREE_DISK_MB)';
    super(
      `The machine is low on ${WHAT[resource]}: ${Math.floor(freeBytes / MIB)} MiB free at ${place}, no work is taken below ${Math.ceil(floorBytes / MIB)}${setting}.`,
      resource === 'memory'
        ? 'Free memory, stop other programs, or lower BESTK_SANDBOX_CONCURRENCY.'
        : `Free disk space${resource === 'engine' ? ' (`docker system df`, `docker image prune`)' : ''}, or lower BESTK_MIN_FREE_DISK_MB.`,
    );
    this.resource = resource;
    this.code = resource === 'memory' ? 'memory-low' : 'disk-low';
  }
}

/*
 * The five ways in which a cluster fails a sandbox, one error each. None is a verdict: a command that exhausts its own
 * time, memory or disk is an outcome of the port instead.
 */

/** The node reclaimed the resources (memory, disk, drain, preemption) or is gone. */
export class SandboxEvictedError extends SandboxLostError {
  override readonly code = 'sandbox-evicted';
}

/** The kernel killed the container for memory although no command of bestk was running that could have caused it. */
export class SandboxOutOfMemoryError extends SandboxLostError {
  override readonly code = 'sandbox-oom-killed';
}

/** The container outlived the maximum lifetime of a sandbox (`BESTK_SANDBOX_TTL_S`). */
export class SandboxExpiredError extends SandboxLostError {
  override readonly code = 'sandbox-expired';
}

/** Codes of `SandboxLostError` and its kinds, for errors that come from another process. */
export const SANDBOX_LOST: ReadonlySet<string> = new Set([
  'sandbox-lost',
  'sandbox-evicted',
  'sandbox-oom-killed',
  'sandbox-expired',
  SandboxStarvedError.code,
]);

/** No node had room for the container within its time to start. */
export class SandboxUnschedulableError extends UnavailableError {
  readonly code = 'sandbox-unschedulable';
  readonly retryable = true;

  constructor(detail: string) {
    super(
      `No node has room for a sandbox: ${detail}`,
      'Add nodes, lower BESTK_SANDBOX_CPUS, BESTK_SANDBOX_MEMORY_MB or the requests in BESTK_KUBERNETES_POD, or wait.',
    );
  }
}

/** The image is not on the node and could not be pulled; retryable if the registry may recover. */
export class ImagePullError extends ImageMissingError {
  override readonly code = 'image-pull-failed';
  override readonly retryable: boolean;

  constructor(image: string, detail: string, retryable: boolean, next?: string) {
    super(
      image,
      `Image "${image}" could not be pulled: ${detail}`,
      next ?? 'Check its name, the registry, and imagePullSecrets in BESTK_KUBERNETES_POD.',
    );
    this.retryable = retryable;
  }
}
