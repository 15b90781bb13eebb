import type { ImageDescription, SandboxSpec } from '../../ports/sandbox.js';
import { ContainerSandbox, type ContainerSandboxOptions, type Started } from '../container/container-sandbox.js';
import type { Container } from '../container/container.js';
import { runPlain } from '../container/run-plain.js';
import { LABEL } from '../container/sandbox-owner.js';
import { KubernetesClient } from './client.js';
import { KubernetesContainer } from './container.js';
import type { ClusterOptions, NetworkPolicy, Pod } from './options.js';
import { isStale, OURS, type PodPlan, podsOf, PREPARED } from './pod-spec.js';
import { imageOf, stateOf } from './pod-state.js';
import { Pods } from './pods.js';
import { PodWatch } from './watch.js';

export interface KubernetesSandboxOptions extends ContainerSandboxOptions {
  readonly cluster: ClusterOptions;
  /** Tells the user of something about the cluster that makes sandboxes less safe; once each. */
  readonly warn?: (text: string) => void;
}

type Wanted = Pick<PodPlan, 'image' | 'purpose' | 'preparation'> & Pick<SandboxSpec, 'separatesUsers'>;

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

  async #run(wanted: Wanted, signal: AbortSignal): Promise<Started> {
    const { image } = wanted;
    const plan = this.#plan({ ...wanted, image: this.#imageNames.get(image) ?? image });
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

  #plan({ image, purpose, preparation, separatesUsers = false }: Wanted): Omit<PodPlan, 'name'> {
    return { image, purpose, preparation, separatesUsers, limits: this.limits, ttlS: this.#options.ttlS };
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

/** Nothing goes in or out of any sandbox of the namespace. */
export const DENY_ALL: NetworkPolicy = {
  metadata: { name: 'bestk-sandboxes', labels: { [LABEL.mark]: '1' } },
  spec: { podSelector: { matchLabels: { [LABEL.mark]: '1' } }, policyTypes: ['Ingress', 'Egress'] },
};

/** Every node's kubelet listens there; also a refusal is an answer that no sandbox should get. */
const KUBELET_PORT = '10250';
const PROBE_MS = 10_000;

/**
 * Prints `reached ADDRESS`, `blocked`, or `unknown` when the image has nothing to ask with. Asked are the node and, where
 * there is Python, the other end of each of the pod's routes.
 */
const PROBE = String.raw`
if command -v python3 >/dev/null; then exec python3 -c '
import socket, struct, sys
hosts = [sys.argv[1]]
for line in open("/proc/net/route").read().splitlines()[1:]:
    to, gateway = (struct.unpack("<I", bytes.fromhex(field))[0] for field in line.split()[1:3])
    hosts.append(socket.inet_ntoa(struct.pack(">I", gateway or to + 1)))
for host in dict.fromkeys(hosts):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    s.settimeout(1)
    try: s.connect((host, int(sys.argv[2])))
    except ConnectionRefusedError: pass
    except OSError: continue
    print("reached " + host)
    break
else: print("blocked")' "$1" "$2"
elif command -v bash >/dev/null && command -v timeout >/dev/null; then
  said=$(timeout 2 bash -c 'exec 3<>"/dev/tcp/$0/$1"' "$1" "$2" 2>&1); code=$?
  case "$code $said" in 0*|*refused*) echo "reached $1" ;; *) echo blocked ;; esac
else echo unknown
fi`;

/** Why a user should not trust the network of sandboxes; null when it is as closed as it should be. */
export async function networkConcern(container: Container, node: string | undefined): Promise<string | null> {
  if (node === undefined) return null;
  const argv = ['/bin/sh', '-c', PROBE, 'sh', node, KUBELET_PORT];
  const { stdout } = await runPlain(container, { argv, timeoutMs: PROBE_MS });
  const said = stdout.toString().trim();
  if (said === 'blocked') return null;
  const [, address] = /^reached ([\da-f.:]+)$/.exec(said) ?? [];
  const policy = `NetworkPolicy "${DENY_ALL.metadata.name}"`;
  if (address === undefined)
    return `Whether the cluster enforces ${policy} is not known: the image has nothing to ask with.`;
  return (
    `The cluster does not enforce ${policy}: a sandbox reached ${address}:${KUBELET_PORT}. Code under test may ` +
    'reach pods and nodes. Install a network plugin that enforces policies (Calico, Cilium, …).'
  );
}

/** The account may neither see nor make the policy. */
export const POLICY_FORBIDDEN =
  `NetworkPolicy "${DENY_ALL.metadata.name}" is not there, and this account may not make it: sandboxes may have a network. ` +
  'Apply deploy/kubernetes/network-policy.yaml.';
