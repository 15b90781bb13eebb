import type { Pod } from './options.js';
import { withDeadline } from '../../core/async/deadline.js';
import type { KubernetesClient } from './client.js';
import { statusOf } from './failure.js';
import { unlimitedListeners } from '../../core/async/deadline.js';
import { backOffMs, pause } from '../../core/async/retry.js';

/** The server ends a watch after this long, so that a dead connection is noticed at last. */
const WATCH_S = 300;
const SILENT_MS = (WATCH_S + 30) * 1000;
const GONE = 410;

/** Looks at a pod, or at null once it was deleted; anything but undefined is what was waited for. */
export type Look<T> = (pod: Pod | null) => T | undefined;

/**
 * What the pods of one selector are like now, by one watch for all of them. It begins with the first question and goes on
 * until it is stopped; what happened while it was broken off is caught up with by a list.
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

  /** Follows a pod that will be made, until it is forgotten; of others nothing is kept. */
  expect(name: string): void {
    this.#expected.add(name);
  }

  /** The first thing `look` finds; a pod that nobody follows is taken for deleted. @throws the signal's reason */
  async until<T>(name: string, look: Look<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#expected.has(name)) this.#start();
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

  /** Nobody will ask for this pod again. */
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
    return this.#expected.has(name) ? this.#pods.get(name) : null;
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
        // A cluster that is away for long fails those who wait for it, not this.
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

  /** Follows from `version` until the server ends the watch; returns the version to go on from. */
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
    if (!this.#expected.has(name)) return;
    this.#pods.set(name, pod);
    this.#tell(name);
  }

  #tell(name: string): void {
    for (const listener of [...this.#listeners]) listener(name);
  }
}
