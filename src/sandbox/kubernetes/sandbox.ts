import { setTimeout as sleep } from 'node:timers/promises';
import { BestkError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { Ids, ImageDescription, SandboxFile, SandboxLimits, SandboxSpec } from '../../ports/sandbox.js';
import { ContainerSandbox, type ContainerSandboxOptions, type Started } from '../container/container-sandbox.js';
import { type Container, type ExecPlan, type Fate, type RunningExec, SYSTEM_PATH } from '../container/container.js';
import { absolutePath, readInside, writeInside, runPlain } from '../container/own-commands.js';
import { LABEL } from '../container/sandbox-owner.js';
import { KubernetesClient } from './client.js';
import { startExec } from './exec.js';
import { clusterFailure, imageOf, type PodState, stateOf, statusOf } from './failure.js';
import {
  type ClusterOptions,
  type NetworkPolicy,
  type Pod,
  isStale,
  OURS,
  type PodPlan,
  podsOf,
  PREPARED,
} from './pod-spec.js';
import { Pods, PodWatch } from './pods.js';

export interface KubernetesSandboxOptions extends ContainerSandboxOptions {
  readonly cluster: ClusterOptions;
  /** Receives each security concern about the cluster once. */
  readonly warn?: (text: string) => void;
}

type Wanted = Pick<PodPlan, 'image' | 'purpose' | 'preparation'> & Pick<SandboxSpec, 'separatesUsers' | 'longestS'>;

/** Sandboxes as pods of a Kubernetes cluster: no token, minimal capabilities, no network if policies are enforced. */
export class KubernetesSandbox extends ContainerSandbox {
  readonly #client: KubernetesClient;
  readonly #watch: PodWatch;
  readonly #pods: Pods;
  readonly #options: KubernetesSandboxOptions;
  /** Name by which any node can pull the image of an id: a bare id works only on nodes that have the image. */
  readonly #imageNames = new Map<string, string>();
  #concerns: Promise<readonly string[]> | null = null;

  constructor(options: KubernetesSandboxOptions) {
    super(options);
    this.#options = options;
    this.#client = new KubernetesClient(options.cluster);
    this.#watch = new PodWatch(this.#client, podsOf());
    this.#pods = new Pods(this.#client, this.#watch, options.cluster);
  }

  /** Requests made to the API server so far. */
  get apiCalls(): number {
    return this.#client.calls;
  }

  /** Starts a pod, because only a node knows an image's content. */
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
    const names = new Set([...stale.map(({ metadata }) => metadata?.name ?? ''), ...this.#pods.left]);
    const deletions = await Promise.allSettled([...names].map((name) => this.#pods.delete(name)));
    for (const deletion of deletions) if (deletion.status === 'rejected') throw deletion.reason;
    return names.size;
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

  #plan({ image, purpose, preparation, separatesUsers = false, ...lasting }: Wanted) {
    return { image, purpose, preparation, separatesUsers, limits: this.limits, ttlS: this.lifetimeS(lasting) };
  }

  /** Denies network access, and checks once whether it worked. The first command will meet any error again. */
  async #examine(container: KubernetesContainer, node: string | undefined): Promise<readonly string[]> {
    try {
      const isClosed = await this.#client.ensureNetworkPolicy(DENY_ALL);
      const network = isClosed ? await networkConcern(container, node) : POLICY_FORBIDDEN;
      const { type } = this.#options.cluster.pod.securityContext.seccompProfile;
      const concerns = [...(network === null ? [] : [network]), ...(type === 'RuntimeDefault' ? [WEAKER_PROFILE] : [])];
      for (const concern of concerns) this.#options.warn?.(concern);
      return concerns;
    } catch {
      this.#concerns = null;
      return [];
    }
  }
}

/** Denies all traffic to and from the namespace's sandboxes. */
const DENY_ALL: NetworkPolicy = {
  metadata: { name: 'bestk-sandboxes', labels: { [LABEL.mark]: '1' } },
  spec: { podSelector: { matchLabels: { [LABEL.mark]: '1' } }, policyTypes: ['Ingress', 'Egress'] },
};

/** Every node's kubelet listens there; even a refused connection proves that it can be reached. */
const KUBELET_PORT = '10250';
const PROBE_MS = 10_000;

/**
 * Prints `reached ADDRESS`, `blocked`, or `unknown` when the image has no tool to test with. Tests the node and, if
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

/** Why the sandboxes' network is not trustworthy; null when it is closed as required. */
async function networkConcern(container: Container, node: string | undefined): Promise<string | null> {
  if (node === undefined) return null;
  const argv = ['/bin/sh', '-c', PROBE, 'sh', node, KUBELET_PORT];
  const { stdout } = await runPlain(container, { argv, environment: 'image', timeoutMs: PROBE_MS });
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

/** The account may neither read nor create the policy. */
const POLICY_FORBIDDEN =
  `NetworkPolicy "${DENY_ALL.metadata.name}" is not there, and this account may not make it: sandboxes may have a network. ` +
  'Apply deploy/kubernetes/network-policy.yaml.';

/** BESTK_KUBERNETES_POD asked for it. */
const WEAKER_PROFILE =
  "Sandboxes run with the container runtime's seccomp profile, which may allow io_uring, AF_VSOCK and other system calls " +
  "that bestk's own profile refuses (deploy/kubernetes/seccomp.yaml).";

const MIB = 1024 * 1024;
/** How long connecting to an unresponsive node is retried before a command. */
const CONNECT_MS = 60_000;
/** How long after the end of a command the cluster may report that the whole pod has ended. */
const NEWS_MS = 3_000;
/** Time limit of a command that only shows that the container is alive. */
const ANSWER_MS = 10_000;
const NEVER = new AbortController().signal;

type Over = Extract<PodState, { kind: 'over' }>;

/** A container's access to the cluster. */
interface PodGround {
  readonly client: KubernetesClient;
  readonly watch: PodWatch;
  readonly limits: SandboxLimits;
  readonly remove: () => Promise<void>;
}

/** The container of a running pod. The image's programs transfer files, since the cluster offers no other way. */
class KubernetesContainer implements Container {
  programs = SYSTEM_PATH;

  constructor(
    private readonly ground: PodGround,
    readonly pod: string,
  ) {}

  async start(plan: ExecPlan): Promise<RunningExec> {
    const { client, limits, watch } = this.ground;
    const target = { pod: this.pod, maxFileBytes: limits.diskMb * MIB, programs: this.programs };
    // A node answers alike for an ended container and one it cannot reach now: only the latter is retried.
    const over = new AbortController();
    const settled = new AbortController();
    const isOver = watch.until(this.pod, (pod) => overOf(stateOf(pod)), settled.signal);
    isOver.then(
      ({ error }) => {
        over.abort(error);
      },
      () => undefined,
    );
    const either = AbortSignal.any([plan.signal ?? NEVER, over.signal]);
    try {
      return this.#watched(
        await client.attempts((to, givenUp) => startExec(to, target, plan, givenUp), either, CONNECT_MS),
      );
    } catch (error) {
      either.throwIfAborted();
      return await this.#rethrow(statusOf(error) === 404 ? new SandboxLostError('its pod is gone') : error);
    } finally {
      settled.abort();
    }
  }

  write(files: readonly SandboxFile[], ids: Ids, signal: AbortSignal): Promise<void> {
    return writeInside(this, files, ids, signal);
  }

  async read(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    return readInside(this, absolutePath(path), maxBytes, signal);
  }

  /** Not needed: the cluster's limit counts only data written since the pod started. */
  async setDiskBaseline(): Promise<void> {
    await Promise.resolve();
  }

  /** The node evicts a pod that exceeds its limit; it checks about every ten seconds. */
  async fillsDisk(_: number, stop: AbortSignal): Promise<boolean> {
    return this.ground.watch
      .until(this.pod, (pod) => (overOf(stateOf(pod))?.fate === 'out-of-disk' ? true : undefined), stop)
      .catch(() => false);
  }

  async fate(): Promise<Fate | null> {
    return (await this.#over())?.fate ?? null;
  }

  /** A lost node does not answer, and an ended container starts nothing; a slow one counts as alive. */
  async assertAlive(): Promise<void> {
    const asked = await this.start({ argv: ['/bin/sh', '-c', ':'], outputBytes: 0 });
    const answered = new AbortController();
    const late = sleep(ANSWER_MS, undefined, { signal: answered.signal }).catch(() => undefined);
    try {
      await Promise.race([asked.exit, late]);
    } finally {
      answered.abort();
      asked.stop();
      asked.exit.catch(() => undefined);
    }
  }

  /** Not needed: the kubelet evicts pods before the node's disk is full, and an evicted pod is reported as lost. */
  assertRoom(): Promise<void> {
    return Promise.resolve();
  }

  remove(): Promise<void> {
    return this.ground.remove();
  }

  /** A lost node drops its connections silently, so the end of the pod also ends its commands. */
  #watched(running: RunningExec): RunningExec {
    const settled = new AbortController();
    const stop = (): void => {
      settled.abort();
    };
    const own = running.exit.catch((error: unknown) => this.#rethrow(error));
    own.then(stop, stop);
    const exit = Promise.race([own, this.#podEnd(settled.signal)]);
    exit.catch(() => undefined);
    return {
      ...running,
      exit,
      stop: () => {
        stop();
        running.stop();
      },
    };
  }

  /** Rejects shortly after the pod has ended; never settles when stopped. */
  async #podEnd(stop: AbortSignal): Promise<never> {
    try {
      const { error } = await this.ground.watch.until(this.pod, (pod) => overOf(stateOf(pod)), stop);
      await sleep(NEWS_MS, undefined, { signal: stop });
      throw error;
    } catch (error) {
      if (!stop.aborted) throw error;
      return new Promise(() => undefined);
    }
  }

  /** How the pod ended; null while it is running. */
  async #over(): Promise<Over | null> {
    const { watch } = this.ground;
    return watch.until(this.pod, (pod) => overOf(stateOf(pod)), AbortSignal.timeout(NEWS_MS)).catch(() => null);
  }

  /** The reason why the pod ended is more informative than a connection error. */
  async #rethrow(error: unknown): Promise<never> {
    if (error instanceof BestkError && !(error instanceof SandboxLostError)) throw error;
    throw (await this.#over())?.error ?? clusterFailure(error);
  }
}

function overOf(state: PodState): Over | undefined {
  return state.kind === 'over' ? state : undefined;
}
