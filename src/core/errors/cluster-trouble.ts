import { UnavailableError } from './errors.js';
import { ImageMissingError, SandboxLostError } from './unavailable.js';

/*
 * The five ways in which a cluster fails a sandbox, each an error of its own. None is a verdict: a command that used up its
 * own time, memory or disk is an outcome of the port instead.
 */

/** The node needed the room (memory, disk, drain, preemption) or is gone. */
export class SandboxEvictedError extends SandboxLostError {
  override readonly code = 'sandbox-evicted';
}

/** The kernel killed the container for memory while no command of ours ran that could have caused it. */
export class SandboxOutOfMemoryError extends SandboxLostError {
  override readonly code = 'sandbox-oom-killed';
}

/** The container outlived the time that every one of ours is given (`BESTK_SANDBOX_TTL_S`). */
export class SandboxExpiredError extends SandboxLostError {
  override readonly code = 'sandbox-expired';
}

/** No node had room for the container in the time it was given to start. */
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

/** The image is not on the node and could not be pulled; retryable when the registry may answer better later. */
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
