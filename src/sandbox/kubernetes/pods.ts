import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pod } from './options.js';
import { type ImagePullError, SandboxLostError, SandboxUnschedulableError } from '../../core/errors/unavailable.js';
import type { KubernetesClient } from './client.js';
import { clusterFailure, isOverQuota, messageOf, StartPatience, stateOf } from './failure.js';
import type { ClusterOptions } from './options.js';
import { podOf, type PodPlan } from './pod-spec.js';
import type { PodWatch } from './watch.js';
import { FairSemaphore } from '../../core/async/semaphore.js';

/** Pods that may wait for a node at once, which is what an autoscaler sees; more sandboxes wait here instead. */
const PENDING = 64;
const START_S = 600;
/** Pods that nodes may turn away, one after the other, because they had changed since they were chosen. */
const REJECTIONS = 5;
/** Between two tries to make a pod while the quota is used up and none of ours ends. */
const QUOTA_MS = { least: 1_000, spread: 4_000 };
/** The cluster counts a pod that ended a moment later. */
const RECOUNT_MS = 200;

/** What of a pod that is starting is enough; undefined while it is not. */
export type Enough<T> = (pod: Pod) => T | undefined;

type Seen<T> = { readonly value: T; readonly rejected?: never } | { readonly rejected: string };

/**
 * Makes and removes pods, no more than the cluster can take: only so many may wait for a node at once, and while the
 * quota is used up one after the other asks again.
 */
export class Pods {
  readonly #pending: FairSemaphore;
  readonly #quotaTurn = new FairSemaphore(1);
  #running = 0;

  constructor(
    private readonly client: KubernetesClient,
    private readonly watch: PodWatch,
    private readonly options: ClusterOptions,
  ) {
    this.#pending = new FairSemaphore(PENDING);
  }

  /**
   * A new pod, once `enough` finds in it what it looks for. Leaves none behind when it throws.
   * @throws SandboxUnschedulableError, ImagePullError, BadInputError, SandboxLostError, EngineUnavailableError
   */
  async raise<T>(
    plan: Omit<PodPlan, 'name'>,
    enough: Enough<T>,
    signal: AbortSignal,
  ): Promise<{ readonly name: string; readonly value: T }> {
    const release = await this.#pending.take(signal);
    const patience = new StartPatience(this.options.startS ?? START_S, () => this.#running > 0, signal);
    try {
      for (let attempt = 1; ; attempt += 1) {
        const name = `bestk-${randomUUID()}`;
        const seen = await this.#tryOne(podOf({ ...plan, name }, this.options), enough, patience);
        if (seen.rejected === undefined) {
          this.#running += 1;
          return { name, value: seen.value };
        }
        if (attempt === REJECTIONS) throw new SandboxUnschedulableError(seen.rejected);
      }
    } finally {
      patience.stop();
      release();
    }
  }

  /** Removes a pod that was raised. */
  async remove(name: string): Promise<void> {
    try {
      await this.client.deletePod(name);
    } finally {
      this.#running -= 1;
      this.watch.forget(name);
    }
  }

  async #tryOne<T>(pod: Pod, enough: Enough<T>, patience: StartPatience): Promise<Seen<T>> {
    const name = pod.metadata?.name ?? '';
    let seen: Seen<T> | null = null;
    this.watch.expect(name);
    try {
      await this.#create(pod, patience);
      seen = await this.watch.until(name, (now) => look(now, enough, patience), patience.signal);
      return seen;
    } finally {
      if (seen === null || seen.rejected !== undefined) {
        await this.client.deletePod(name).catch(() => undefined);
        this.watch.forget(name);
      }
    }
  }

  async #create(pod: Pod, patience: StartPatience): Promise<void> {
    const { signal } = patience;
    try {
      await this.client.createPod(pod, signal);
    } catch (error) {
      if (!isOverQuota(error)) throw failure(error, signal);
      await this.#createInTurn(pod, patience, error);
    }
  }

  async #createInTurn(pod: Pod, patience: StartPatience, first: unknown): Promise<void> {
    const { signal } = patience;
    const release = await this.#quotaTurn.take(signal);
    try {
      for (let refused: unknown = first; refused !== null;) {
        patience.noRoom(messageOf(refused));
        await this.#somethingEnds(signal);
        refused = await this.client.createPod(pod, signal).then(
          () => null,
          (error: unknown) => error,
        );
        if (refused !== null && !isOverQuota(refused)) throw failure(refused, signal);
      }
    } finally {
      release();
    }
  }

  /** One of our pods is gone, or some time has passed: others' pods end, too. */
  async #somethingEnds(signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const before = this.#running;
    const stop = this.watch.onChange(() => {
      if (this.#running < before) over.abort();
    });
    const waitMs = QUOTA_MS.least + Math.random() * QUOTA_MS.spread;
    await sleep(waitMs, undefined, { signal: AbortSignal.any([over.signal, signal]) }).catch(() => undefined);
    stop();
    signal.throwIfAborted();
    await sleep(RECOUNT_MS);
  }
}

function look<T>(pod: Pod | null, enough: Enough<T>, patience: StartPatience): Seen<T> | undefined {
  const value = pod === null ? undefined : enough(pod);
  if (value !== undefined) return { value };
  const state = stateOf(pod);
  if (state.kind === 'rejected') return { rejected: state.detail };
  if (state.kind === 'over') patience.fail(state.error);
  else if (state.kind === 'waiting') tell(patience, state.unschedulable, state.pull);
  return undefined;
}

function tell(patience: StartPatience, unschedulable: string | null, pull: ImagePullError | null): void {
  if (pull !== null) patience.pullFailed(pull);
  else if (unschedulable !== null) patience.noRoom(unschedulable);
}

function failure(error: unknown, signal: AbortSignal): unknown {
  return signal.aborted || error instanceof SandboxLostError ? error : clusterFailure(error);
}
