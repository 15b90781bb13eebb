import type { NetworkPolicy, Pod } from './kubernetes-objects.js';
import { abortable } from './abortable.js';
import { withDeadline } from './deadline.js';
import { connectCluster, type Connection } from './kubernetes-connection.js';
import { askedMs, clusterFailure, isPassing, statusOf } from './kubernetes-failure.js';
import type { ClusterOptions } from './kubernetes-options.js';
import { patient } from './patient-signal.js';
import { backOffMs, pause } from './retry.js';

/** How long a cluster that does not answer, or has too much to do, is asked again. */
const PATIENCE_MS = 120_000;
const CALL_TIMEOUT_MS = 60_000;
const NEVER = new AbortController().signal;

export interface PodList {
  readonly pods: readonly Pod[];
  readonly version: string;
  /** When the server answered by its own clock, in ms since 1970; NaN where it does not say. */
  readonly clusterMs: number;
}

/** Every call that bestk makes to a cluster; each is counted, and repeated while the trouble may pass. */
export class KubernetesClient {
  /** Requests made, repeated ones too. */
  calls = 0;
  #connection: Promise<Connection> | null = null;

  constructor(private readonly options: ClusterOptions) {}

  connection(): Promise<Connection> {
    this.#connection ??= connectCluster(this.options);
    return this.#connection;
  }

  async version(): Promise<string> {
    const { gitVersion } = await this.call(({ version }) => version.getCode(), NEVER, 0);
    return gitVersion;
  }

  /** One that is there already was made by a try whose answer was lost: names are ours alone. */
  async createPod(pod: Pod, signal: AbortSignal): Promise<void> {
    const create = async ({ core, namespace }: Connection, givenUp: AbortSignal): Promise<void> => {
      await core.createNamespacedPod({ namespace, body: pod });
      if (givenUp.aborted) await this.deletePod(pod.metadata?.name ?? '');
    };
    try {
      await this.attempts(create, signal);
    } catch (error) {
      if (statusOf(error) !== 409) throw error;
    }
  }

  /** Takes it from the cluster at once; the node ends its processes within two seconds. */
  async deletePod(name: string): Promise<void> {
    await this.call(
      ({ core, namespace }) =>
        core
          .deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0, propagationPolicy: 'Background' })
          .catch(unless(404)),
      NEVER,
    );
  }

  async listPods(labelSelector: string, signal: AbortSignal = NEVER): Promise<PodList> {
    const { data, headers } = await this.call(
      ({ core, namespace }) => core.listNamespacedPodWithHttpInfo({ namespace, labelSelector }),
      signal,
    );
    const clusterMs = Date.parse(headers['date'] ?? '');
    return { pods: data.items, version: data.metadata?.resourceVersion ?? '', clusterMs };
  }

  /**
   * Tells of every change until the server ends the watch. @throws what broke it off; its status is 410 when the server
   * does not remember the version any more
   */
  async watchPods(
    query: Readonly<Record<string, string | number | boolean>>,
    onEvent: (type: string, pod: Pod) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { watch, namespace } = await this.connection();
    signal.throwIfAborted();
    this.calls += 1;
    await new Promise<void>((resolve, reject) => {
      const onObject = (type: string, object: Pod & { code?: number; message?: string }): void => {
        if (type !== 'ERROR') onEvent(type, object);
        else reject(Object.assign(new Error(object.message), { statusCode: object.code }));
      };
      const onDone = (error: Error | null): void => {
        if (error === null) resolve();
        else reject(error);
      };
      const path = `/api/v1/namespaces/${namespace}/pods`;
      watch.watch(path, { ...query }, onObject, onDone).then((request) => {
        const onAbort = (): void => {
          request.abort();
          reject(signal.reason as Error);
        };
        if (signal.aborted) onAbort();
        else patient(signal).addEventListener('abort', onAbort, { once: true });
      }, reject);
    });
  }

  /** True when there is one of that name now, false when the account may not look or make one. */
  async ensureNetworkPolicy(body: NetworkPolicy): Promise<boolean> {
    const { name } = body.metadata;
    const made = await this.call(async ({ networking, namespace }) => {
      const found = await networking.readNamespacedNetworkPolicy({ namespace, name }).catch(unless(404));
      if (found !== undefined) return true;
      await networking.createNamespacedNetworkPolicy({ namespace, body }).catch(unless(409));
      return true;
    }, NEVER).catch((error: unknown) => {
      if (error instanceof Error && statusOf(error.cause) === 403) return false;
      throw error;
    });
    return made;
  }

  /** @throws EngineUnavailableError */
  async call<T>(work: (to: Connection) => Promise<T>, signal: AbortSignal, patienceMs = PATIENCE_MS): Promise<T> {
    try {
      return await this.attempts(work, signal, patienceMs);
    } catch (error) {
      signal.throwIfAborted();
      throw clusterFailure(error);
    }
  }

  /** As `call`, with the error as it came. The signal of `work` aborts when nobody waits for its end any more. */
  async attempts<T>(
    work: (to: Connection, givenUp: AbortSignal) => Promise<T>,
    signal: AbortSignal,
    patienceMs = PATIENCE_MS,
  ): Promise<T> {
    const connection = await this.connection();
    const until = performance.now() + patienceMs;
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted();
      this.calls += 1;
      try {
        return await withDeadline(CALL_TIMEOUT_MS, signal, (either) => abortable(work(connection, either), either));
      } catch (error) {
        signal.throwIfAborted();
        const waitMs = backOffMs(attempt, askedMs(error), Math.random);
        if (!isPassing(error) || performance.now() + waitMs > until) throw error;
        await pause(waitMs, patient(signal));
      }
    }
  }
}

function unless(status: number): (error: unknown) => undefined {
  return (error) => {
    if (statusOf(error) !== status) throw error;
    return undefined;
  };
}
