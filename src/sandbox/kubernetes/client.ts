import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { CoreV1Api, Exec, KubeConfig, NetworkingV1Api, VersionApi, Watch } from '@kubernetes/client-node';
import { abortable, pause, unlimitedListeners, withDeadline } from '../../core/async/time.js';
import { BadInputError } from '../../core/errors/errors.js';
import { askedMs, clusterFailure, isAlreadyThere, isPassing, statusOf } from './failure.js';
import type { ClusterOptions, NetworkPolicy, Pod } from './pod-spec.js';
import { backOffMs } from '../../core/async/retries.js';

/** How long calls to an unresponsive or overloaded cluster are retried. */
const PATIENCE_MS = 120_000;
const CALL_TIMEOUT_MS = 60_000;
const NEVER = new AbortController().signal;

export interface PodList {
  readonly pods: readonly Pod[];
  readonly version: string;
  /** Time of the answer by the server's clock, in ms since 1970; NaN if not given. */
  readonly clusterMs: number;
}

/** All calls of bestk to a cluster; each is counted, and retried on transient failures. */
export class KubernetesClient {
  /** Requests made, including retries. */
  calls = 0;
  #connection: Promise<Connection> | null = null;

  /** @param callMs longest wait for the answer to one request */
  constructor(
    private readonly options: ClusterOptions,
    private readonly callMs = CALL_TIMEOUT_MS,
  ) {}

  connection(): Promise<Connection> {
    this.#connection ??= connectCluster(this.options);
    return this.#connection;
  }

  async version(): Promise<string> {
    const { gitVersion } = await this.call(({ version }) => version.getCode(), NEVER, 0);
    return gitVersion;
  }

  /**
   * A pod that is already there was created by an earlier attempt whose answer was lost: names are unique.
   * @param late called if an attempt that was given up has created the pod after all, perhaps after this call's end
   */
  async createPod(pod: Pod, signal: AbortSignal, late: () => void): Promise<void> {
    const create = async ({ core, namespace }: Connection, givenUp: AbortSignal): Promise<void> => {
      await core.createNamespacedPod({ namespace, body: pod });
      if (givenUp.aborted) late();
    };
    await this.attempts(create, signal).catch(unless(isAlreadyThere));
  }

  /** Removes it from the cluster at once; the node ends its processes within two seconds. */
  async deletePod(name: string): Promise<void> {
    await this.call(
      ({ core, namespace }) =>
        core
          .deleteNamespacedPod({ namespace, name, gracePeriodSeconds: 0, propagationPolicy: 'Background' })
          .catch(unless(isMissing)),
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
   * Reports every change until the server ends the watch. @throws the error that interrupted it; its status is 410 when
   * the server no longer has the version
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
      const request = watch.watch(path, { ...query }, onObject, onDone);
      // The request can be aborted only once its answer has begun, for which the SDK waits without limit.
      const onAbort = (): void => {
        reject(signal.reason as Error);
        request.then(
          (begun) => {
            begun.abort();
          },
          () => undefined,
        );
      };
      request.catch(reject);
      if (signal.aborted) onAbort();
      else unlimitedListeners(signal).addEventListener('abort', onAbort, { once: true });
    });
  }

  /** True if the policy exists now, false if the account lacks the rights to read or create it. */
  async ensureNetworkPolicy(body: NetworkPolicy): Promise<boolean> {
    const { name } = body.metadata;
    const made = await this.call(async ({ networking, namespace }) => {
      const found = await networking.readNamespacedNetworkPolicy({ namespace, name }).catch(unless(isMissing));
      if (found !== undefined) return true;
      await networking.createNamespacedNetworkPolicy({ namespace, body }).catch(unless(isAlreadyThere));
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

  /** Like `call`, but throws the original error. `work`'s signal aborts once its result is not awaited any more. */
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
        return await withDeadline(this.callMs, signal, (either) => abortable(work(connection, either), either));
      } catch (error) {
        signal.throwIfAborted();
        const waitMs = backOffMs(attempt, askedMs(error), Math.random);
        if (!isPassing(error) || performance.now() + waitMs > until) throw error;
        await pause(waitMs, unlimitedListeners(signal));
      }
    }
  }
}

function unless(isFine: (error: unknown) => boolean): (error: unknown) => undefined {
  return (error) => {
    if (!isFine(error)) throw error;
    return undefined;
  };
}

function isMissing(error: unknown): boolean {
  return statusOf(error) === 404;
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The SDK's clients for one cluster. */
export interface Connection {
  readonly namespace: string;
  /** The process runs in a pod of the same cluster and namespace. */
  readonly isOwn: boolean;
  readonly core: CoreV1Api;
  readonly networking: NetworkingV1Api;
  readonly version: VersionApi;
  readonly watch: Watch;
  readonly sockets: Exec['handler'];
}

/** Loads the SDK on demand, since it takes time and memory and is not needed with Docker. @throws BadInputError */
export async function connectCluster(options: ClusterOptions): Promise<Connection> {
  const { CoreV1Api, Exec, KubeConfig, NetworkingV1Api, VersionApi, Watch } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  load(config, options);
  keepAgents(config as unknown as AgentMaker);
  const home = config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
  const { namespace = home } = options;
  return {
    namespace,
    isOwn: isInPod(options) && namespace === home,
    core: config.makeApiClient(CoreV1Api),
    networking: config.makeApiClient(NetworkingV1Api),
    version: config.makeApiClient(VersionApi),
    watch: new Watch(config),
    sockets: sockets(new Exec(config)),
  };
}

interface AgentMaker {
  createAgent(cluster: unknown, options: object): unknown;
}

/** Reuses one agent per set of credentials; the SDK would create one for every call, each with a TLS handshake. */
function keepAgents(config: AgentMaker): void {
  const make = config.createAgent.bind(config);
  const agents = new Map<string, unknown>();
  config.createAgent = (cluster, options) => {
    const key = JSON.stringify(options);
    if (!agents.has(key)) agents.set(key, make(cluster, { ...options, keepAlive: true }));
    return agents.get(key);
  };
}

/** Replaces the SDK's default streams, which are this process's own: a server that closes a stream would close them. */
function sockets({ handler }: Exec): Exec['handler'] {
  const nobodys = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  return Object.assign(handler, { streams: nobodys });
}

/** Whether the account of this process's pod is used. */
function isInPod({ kubeconfig }: Pick<ClusterOptions, 'kubeconfig'>): boolean {
  return kubeconfig === undefined && existsSync(`${ACCOUNT}/token`);
}

function load(config: KubeConfig, { kubeconfig, context }: ClusterOptions): void {
  try {
    if (isInPod({ kubeconfig })) config.loadFromCluster();
    else config.loadFromFile(kubeconfig ?? join(homedir(), '.kube', 'config'));
    if (context !== undefined) config.setCurrentContext(context);
  } catch (error) {
    throw new BadInputError(`cannot be read: ${error instanceof Error ? error.message : String(error)}`, {
      file: kubeconfig ?? '~/.kube/config',
      field: 'KUBECONFIG',
    });
  }
  if (config.getCurrentCluster() === null) {
    throw new BadInputError(`names no cluster for context "${config.getCurrentContext()}"`, { field: 'KUBECONFIG' });
  }
}
