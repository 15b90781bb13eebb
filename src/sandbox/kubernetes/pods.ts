import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Pod, type ClusterOptions, podOf, type PodPlan } from './pod-spec.js';
import { type ImagePullError, SandboxLostError, SandboxUnschedulableError } from '../../core/errors/unavailable.js';
import type { KubernetesClient } from './client.js';
import { clusterFailure, isOverQuota, messageOf, StartPatience, stateOf, statusOf } from './failure.js';
import { FairSemaphore } from '../../core/async/concurrency.js';
import { pause, unlimitedListeners, withDeadline } from '../../core/async/time.js';
import { backOffMs } from '../../core/async/retries.js';

/** Pods that may wait for a node at once, which is what an autoscaler sees; further sandboxes queue in this process. */
const PENDING = 64;
const START_S = 600;
/** Maximum number of successive pods that nodes reject because they changed after they were chosen. */
const REJECTIONS = 5;
/** Delay between attempts to create a pod while the quota is used up and no pod of bestk ends. */
const QUOTA_MS = { least: 1_000, spread: 4_000 };
/** The cluster updates its quota a moment after a pod has ended. */
const RECOUNT_MS = 200;

/** Returns what the caller needs from a starting pod; undefined while it is not available. */
export type Enough<T> = (pod: Pod) => T | undefined;

type Seen<T> = { readonly value: T; readonly rejected?: never } | { readonly rejected: string };

/**
 * Creates and removes pods within the cluster's capacity: a limited number may wait for a node at once, and while the
 * quota is used up, creations are retried one at a time.
 */
export class Pods {
  readonly #pending: FairSemaphore;
  readonly #quotaTurn = new FairSemaphore(1);
  #running = 0;
  readonly #left = new Set<string>();

  constructor(
    private readonly client: KubernetesClient,
    private readonly watch: PodWatch,
    private readonly options: ClusterOptions,
  ) {
    this.#pending = new FairSemaphore(PENDING);
  }

  /**
   * Creates a pod and waits until `enough` returns a value. Removes the pod when it throws.
   * @throws SandboxUnschedulableError, ImagePullError, BadInputError, SandboxLostError, EngineUnavailableError
   */
  async raise<T>(
    plan: Omit<PodPlan, 'name' | 'isOwned'>,
    enough: Enough<T>,
    signal: AbortSignal,
  ): Promise<{ readonly name: string; readonly value: T }> {
    const { isOwn: isOwned } = await this.client.connection();
    const release = await this.#pending.take(signal);
    const patience = new StartPatience(this.options.startS ?? START_S, () => this.#running > 0, signal);
    try {
      for (let attempt = 1; ; attempt += 1) {
        const name = `bestk-${randomUUID()}`;
        const seen = await this.#tryOne(podOf({ ...plan, name, isOwned }, this.options), enough, patience);
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

  /** Removes a pod created by `raise`. */
  async remove(name: string): Promise<void> {
    try {
      await this.delete(name);
    } finally {
      this.#running -= 1;
      this.watch.forget(name);
    }
  }

  /** Names of pods that could not be deleted so far. */
  get left(): readonly string[] {
    return [...this.#left];
  }

  async delete(name: string): Promise<void> {
    await this.client.deletePod(name).catch((error: unknown) => {
      this.#left.add(name);
      throw error;
    });
    this.#left.delete(name);
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
        // Forgotten first, so that a creation answered during the deletion is taken back.
        this.watch.forget(name);
        await this.delete(name).catch(() => undefined);
      }
    }
  }

  /** A pod that nobody waits for any more is deleted. */
  #createOnce(pod: Pod, signal: AbortSignal): Promise<void> {
    const name = pod.metadata?.name ?? '';
    return this.client.createPod(pod, signal, () => {
      if (!this.watch.isExpected(name)) this.delete(name).catch(() => undefined);
    });
  }

  async #create(pod: Pod, patience: StartPatience): Promise<void> {
    const { signal } = patience;
    try {
      await this.#createOnce(pod, signal);
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
        refused = await this.#createOnce(pod, signal).then(
          () => null,
          (error: unknown) => error,
        );
        if (refused !== null && !isOverQuota(refused)) throw failure(refused, signal);
      }
    } finally {
      release();
    }
  }

  /** Waits until a pod of this process is gone, or for some time, since pods of others end too. */
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
  patience.pulling(pull);
  if (unschedulable !== null) patience.noRoom(unschedulable);
}

function failure(error: unknown, signal: AbortSignal): unknown {
  return signal.aborted || error instanceof SandboxLostError ? error : clusterFailure(error);
}

/** The server ends a watch after this long, so that a dead connection is detected eventually. */
const WATCH_S = 300;
const SILENT_MS = (WATCH_S + 30) * 1000;
const GONE = 410;

/** Inspects a pod, or null once it is deleted; any value but undefined ends the wait. */
export type Look<T> = (pod: Pod | null) => T | undefined;

/**
 * Tracks the pods of one selector with a single watch. It starts with the first call of `until` and continues until it
 * is stopped; changes missed during an interruption are recovered by a list.
 */
export class PodWatch {
  readonly #pods = new Map<string, Pod | null>();
  readonly #expected = new Set<string>();
  readonly #listeners = new Set<(name: string) => void>();
  #stop: AbortController | null = null;

  constructor(
    private readonly client: KubernetesClient,
    private readonly selector: string,
  ) {}

  /** Tracks a pod that will be created, until it is forgotten; other pods are ignored. */
  expect(name: string): void {
    this.#expected.add(name);
  }

  isExpected(name: string): boolean {
    return this.#expected.has(name);
  }

  /** Waits until `look` returns a value; a pod that is not tracked counts as deleted. @throws the signal's reason */
  async until<T>(name: string, look: Look<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.isExpected(name)) this.#start();
    return new Promise((resolve, reject) => {
      const settle = (done: () => void): void => {
        this.#listeners.delete(listener);
        signal.removeEventListener('abort', onAbort);
        done();
      };
      const onAbort = (): void => {
        settle(() => {
          reject(signal.reason as Error);
        });
      };
      const listener = (changed: string): void => {
        const pod = changed === name ? this.#now(name) : undefined;
        const found = pod === undefined ? undefined : look(pod);
        if (found !== undefined) {
          settle(() => {
            resolve(found);
          });
        }
      };
      unlimitedListeners(signal).addEventListener('abort', onAbort, { once: true });
      this.#listeners.add(listener);
      listener(name);
    });
  }

  /** Calls `listener` with the name of each pod that changes, until the returned function is called. */
  onChange(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops tracking a pod. */
  forget(name: string): void {
    this.#expected.delete(name);
    this.#pods.delete(name);
    this.#tell(name);
  }

  stop(): void {
    this.#stop?.abort(new Error('the watch was stopped'));
    this.#stop = null;
    this.#pods.clear();
  }

  #now(name: string): Pod | null | undefined {
    return this.isExpected(name) ? this.#pods.get(name) : null;
  }

  #start(): void {
    if (this.#stop !== null) return;
    this.#stop = new AbortController();
    void this.#follow(this.#stop.signal).catch(() => undefined);
  }

  async #follow(stop: AbortSignal): Promise<void> {
    let version: string | null = null;
    for (let failures = 0; !stop.aborted;) {
      try {
        version ??= await this.#list(stop);
        version = await this.#watch(version, stop);
        failures = 0;
      } catch (error) {
        // A long outage of the cluster fails the waiting callers, not this loop.
        version = statusOf(error) === GONE ? null : version;
        await pause(backOffMs(failures++, null, Math.random), stop);
      }
    }
  }

  async #list(stop: AbortSignal): Promise<string> {
    const { pods, version } = await this.client.listPods(this.selector, stop);
    const listed = new Set(pods.map(({ metadata }) => metadata?.name));
    for (const [name, pod] of this.#pods) if (pod !== null && !listed.has(name)) this.#set(name, null);
    for (const pod of pods) this.#set(pod.metadata?.name ?? '', pod);
    return version;
  }

  /** Watches from `version` until the server ends the watch. @returns the version to continue from */
  async #watch(version: string, stop: AbortSignal): Promise<string> {
    let at: string = version;
    const query = {
      labelSelector: this.selector,
      resourceVersion: version,
      timeoutSeconds: WATCH_S,
      allowWatchBookmarks: true,
    };
    const onEvent = (type: string, pod: Pod): void => {
      at = pod.metadata?.resourceVersion ?? at;
      if (type !== 'BOOKMARK') this.#set(pod.metadata?.name ?? '', type === 'DELETED' ? null : pod);
    };
    await withDeadline(SILENT_MS, stop, (over) => this.client.watchPods(query, onEvent, over));
    return at;
  }

  #set(name: string, pod: Pod | null): void {
    if (!this.isExpected(name)) return;
    this.#pods.set(name, pod);
    this.#tell(name);
  }

  #tell(name: string): void {
    for (const listener of [...this.#listeners]) listener(name);
  }
}
