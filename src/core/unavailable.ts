import { UnavailableError } from './errors.js';

/** The container engine does not answer, or stopped answering while it worked for us. */
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

/** The image is not on the engine, and bestk is not to pull it. */
export class ImageMissingError extends UnavailableError {
  readonly code: string = 'image-missing';
  readonly retryable: boolean = false;
  readonly image: string;

  constructor(
    image: string,
    message = `Image "${image}" is not present on the container engine.`,
    next = `Pull or build it first: docker pull ${image}; or let bestk pull what is missing (BESTK_PULL=missing).`,
  ) {
    super(message, next);
    this.image = image;
  }
}

/** The engine itself ran out of disk, and nobody made room in the time it was waited for; unlike a test that fills its own quota this is nobody's verdict. */
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

/** The container ended under us for a reason that is not the command's (removed, engine restarted). */
export class SandboxLostError extends UnavailableError {
  readonly code: string = 'sandbox-lost';
  readonly retryable = true;

  constructor(detail: string, options?: ErrorOptions) {
    super(`A sandbox was lost: ${detail}`, 'Nothing to do: the work is repeated in a fresh container.', options);
  }
}

/** The model endpoint does not answer, or kept failing after the retries. */
export class ModelUnavailableError extends UnavailableError {
  readonly code = 'model-unavailable';
  readonly retryable: boolean;

  constructor(detail: string, options?: ErrorOptions & { retryable?: boolean }) {
    super(
      `The model is not available: ${detail}`,
      'Check OPENAI_BASE_URL, OPENAI_API_KEY and the model name, then run `bestk doctor`.',
      options,
    );
    this.retryable = options?.retryable ?? false;
  }
}

/** The prompt is longer than the model's context; a shorter one may do. */
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
    super(`The budget is spent: ${detail}`, 'Give a larger budget; what was done is stored and not paid again.');
  }
}

/** A replay was asked for a call that its recording does not hold. */
export class RecordingMissError extends UnavailableError {
  readonly code = 'recording-miss';
  readonly retryable = false;

  constructor(recording: string, key: string) {
    super(
      `Recording "${recording}" does not hold the call ${key}.`,
      'Record again with BESTK_RECORD, or unset BESTK_REPLAY to call the model.',
    );
  }
}

/** The store does not open or does not take a write. */
export class StoreUnavailableError extends UnavailableError {
  readonly code = 'store-unavailable';
  readonly retryable: boolean;

  constructor(detail: string, options?: ErrorOptions & { retryable?: boolean }) {
    super(`The store is not available: ${detail}`, 'Check DATABASE_URL, free space and permissions.', options);
    this.retryable = options?.retryable ?? true;
  }
}
