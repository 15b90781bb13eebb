import type { Pod } from './kubernetes-objects.js';
import type { ImageDescription, SandboxSpec } from '../ports/sandbox.js';
import { ContainerSandbox, type ContainerSandboxOptions, type Started } from './container-sandbox.js';
import { KubernetesClient } from './kubernetes-client.js';
import { KubernetesContainer } from './kubernetes-container.js';
import { PREPARED } from './kubernetes-first-process.js';
import { isStale, OURS, podsOf } from './kubernetes-labels.js';
import { DENY_ALL, networkConcern, POLICY_FORBIDDEN } from './kubernetes-network.js';
import type { ClusterOptions } from './kubernetes-options.js';
import type { PodPlan } from './kubernetes-pod-spec.js';
import { imageOf, stateOf } from './kubernetes-pod-state.js';
import { Pods } from './kubernetes-pods.js';
import { PodWatch } from './kubernetes-watch.js';

export interface KubernetesSandboxOptions extends ContainerSandboxOptions {
  readonly cluster: ClusterOptions;
  /** Tells the user of something about the cluster that makes sandboxes less safe; once each. */
  readonly warn?: (text: string) => void;
}

type Wanted = Pick<PodPlan, 'image' | 'purpose' | 'preparation'>;

/** Sandboxes as pods of a Kubernetes cluster, one each: no token, no capabilities, no network where policies are enforced. */
export class KubernetesSandbox extends ContainerSandbox {
  readonly #client: KubernetesClient;
  readonly #watch: PodWatch;
  readonly #pods: Pods;
  readonly #options: KubernetesSandboxOptions;
  /** How any node gets the image of an id: a bare id names only what a node already has. */
  readonly #imageNames = new Map<string, string>();
  #concerns: Promise<readonly string[]> | null = null;

  constructor(options: KubernetesSandboxOptions) {
    super(options);
    this.#options = options;
    this.#client = new KubernetesClient(options.cluster);
    this.#watch = new PodWatch(this.#client, podsOf());
    this.#pods = new Pods(this.#client, this.#watch, options.cluster);
  }

  /** Requests made to the API server until now. */
  get apiCalls(): number {
    return this.#client.calls;
  }

  /** Only a node knows an image's content, so that a pod is started on one. */
  async describeImage(image: string, signal: AbortSignal): Promise<ImageDescription> {
    signal.throwIfAborted();
    if (this.#imageNames.has(image)) return { id: image };
    const plan = this.#plan({ image, purpose: 'describe image', preparation: [] });
    const { name, value } = await this.#pods.raise(plan, (pod) => imageOf(pod) ?? undefined, signal);
    await this.#pods.remove(name);
    this.#imageNames.set(value.id, value.name);
    return { id: value.id };
  }

  async sweep(): Promise<number> {
    const { pods, clusterMs } = await this.#client.listPods(OURS);
    const stale = pods.filter((pod) => isStale(pod, this.#options.cluster.worker, clusterMs));
    for (const { metadata } of stale) await this.#client.deletePod(metadata?.name ?? '');
    return stale.length;
  }

  async engineVersion(): Promise<string> {
    return `Kubernetes ${await this.#client.version()}`;
  }

  async concerns(image: string, signal: AbortSignal): Promise<readonly string[]> {
    const { container } = await this.#run({ image, purpose: 'doctor', preparation: [] }, signal);
    await container.remove();
    return (await this.#concerns) ?? [];
  }

  override async closeAll(): Promise<void> {
    await super.closeAll();
    this.#watch.stop();
  }

  protected async start(spec: SandboxSpec, signal: AbortSignal): Promise<Started> {
    const preparation = this.preparation(spec, spec.image);
    return { ...(await this.#run({ ...spec, preparation }, signal)), prepared: PREPARED };
  }

  async #run({ image, purpose, preparation }: Wanted, signal: AbortSignal): Promise<Started> {
    const plan = this.#plan({ image: this.#imageNames.get(image) ?? image, purpose, preparation });
    const running = (pod: Pod) => (stateOf(pod).kind === 'running' ? (imageOf(pod) ?? undefined) && pod : undefined);
    const { name, value: pod } = await this.#pods.raise(plan, running, signal);
    const { id, name: imageName } = imageOf(pod) ?? { id: image, name: image };
    this.#imageNames.set(id, imageName);
    const container = new KubernetesContainer(
      { client: this.#client, watch: this.#watch, limits: this.limits, remove: () => this.#pods.remove(name) },
      name,
    );
    this.#concerns ??= this.#examine(container, pod.status?.hostIP);
    await this.#concerns;
    return { container, imageId: id };
  }

  #plan(what: Wanted): Omit<PodPlan, 'name'> {
    return { ...what, limits: this.limits, ttlS: this.#options.ttlS };
  }

  /** Closes the network, and looks once whether it is closed. Trouble meanwhile is met again by the first command. */
  async #examine(container: KubernetesContainer, node: string | undefined): Promise<readonly string[]> {
    try {
      const isClosed = await this.#client.ensureNetworkPolicy(DENY_ALL);
      const found = isClosed ? await networkConcern(container, node) : POLICY_FORBIDDEN;
      const concerns = found === null ? [] : [found];
      for (const concern of concerns) this.#options.warn?.(concern);
      return concerns;
    } catch {
      this.#concerns = null;
      return [];
    }
  }
}
