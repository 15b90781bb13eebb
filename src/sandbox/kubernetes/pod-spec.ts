import type { V1ContainerStatus, V1NetworkPolicy, V1ObjectMeta, V1Pod, V1PodSpec } from '@kubernetes/client-node';
import { z } from 'zod';
import { createHash } from 'node:crypto';
import { requireImageReference } from '../../core/run/issue.js';
import type { SandboxLimits } from '../../ports/sandbox.js';
import { OVER_TESTS_USER } from '../container/container.js';
import { isDeadOwner, isNeighbour, LABEL, OWNER } from '../container/sandbox-owner.js';

const Quantity = z.union([z.string(), z.number().transform(String)]);

/**
 * What a user adds to every sandbox's pod, in the field names of a PodSpec; pull policy and requests are the container's.
 * Everything else of the pod is bestk's: a field that could weaken it is refused.
 */
export const PodTemplate = z.strictObject({
  runtimeClassName: z.string().min(1).exactOptional(),
  nodeSelector: z.record(z.string(), z.string()).exactOptional(),
  tolerations: z
    .array(
      z.strictObject({
        key: z.string().exactOptional(),
        operator: z.enum(['Exists', 'Equal']).exactOptional(),
        value: z.string().exactOptional(),
        effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).exactOptional(),
      }),
    )
    .exactOptional(),
  imagePullSecrets: z.array(z.strictObject({ name: z.string().min(1) })).exactOptional(),
  imagePullPolicy: z.enum(['IfNotPresent', 'Always', 'Never']).default('IfNotPresent'),
  /** What the scheduler sets aside for a pod; absent: its limit. */
  resources: z
    .strictObject({ requests: z.strictObject({ cpu: Quantity.exactOptional(), memory: Quantity.exactOptional() }) })
    .exactOptional(),
  securityContext: z
    .strictObject({
      /** Refuse images whose user is root. */
      runAsNonRoot: z.boolean().exactOptional(),
      seccompProfile: z
        .strictObject({ type: z.enum(['RuntimeDefault', 'Localhost']), localhostProfile: z.string().exactOptional() })
        .default({ type: 'RuntimeDefault' }),
    })
    .prefault({}),
});
export type PodTemplate = z.infer<typeof PodTemplate>;

/** The pod that this process runs in; its sandboxes are its own, and the cluster removes them with it. */
export interface WorkerPod {
  readonly name: string;
  readonly uid: string;
}

/** Which cluster, and what every sandbox's pod is like there. */
export interface ClusterOptions {
  /** Path of a kubeconfig; undefined: the account of the pod this runs in, or else `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Undefined: that of the context or of the account. */
  readonly namespace?: string | undefined;
  readonly pod: PodTemplate;
  /** Longest wait for a node or an image while no pod of ours runs; 600 by default. */
  readonly startS?: number;
  readonly worker?: WorkerPod | undefined;
}

/** What the SDK has as classes, as the plain data it is on the wire. */
type Plain<T> = T extends Date
  ? T
  : T extends readonly (infer Entry)[]
    ? Plain<Entry>[]
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;

export type Pod = Plain<V1Pod>;
export type PodSpec = Plain<V1PodSpec>;
export type ObjectMeta = Plain<V1ObjectMeta>;
export type ContainerStatus = Plain<V1ContainerStatus>;
export type NetworkPolicy = Plain<V1NetworkPolicy> & { readonly metadata: { readonly name: string } };

/** Name of the one container of a pod. */
export const CONTAINER = 'sandbox';

/** The cluster ends the pod first, and says why. */
const SLEEP_LONGER_S = 60;
/** Nobody answers there, so that no name is looked up through the cluster's own resolver. */
const NO_NAME_SERVER = '127.0.0.1';

export interface PodPlan {
  readonly name: string;
  readonly image: string;
  readonly purpose: string;
  readonly separatesUsers: boolean;
  readonly limits: SandboxLimits;
  readonly ttlS: number;
  /** Command that begins with the pod; may be empty. */
  readonly preparation: readonly string[];
}

/**
 * A pod that has no token, no privilege and no name to ask for, and that the cluster ends after `ttlS` seconds.
 * @throws BadInputError for an image of no such name
 */
export function podOf(plan: PodPlan, options: ClusterOptions): Pod {
  const { name, image, purpose, limits, ttlS, preparation } = plan;
  const { imagePullPolicy, resources: asked, ...template } = options.pod;
  requireImageReference(image);
  return {
    metadata: { name, ...podLabels(purpose, options.worker), ...ownedBy(options) },
    spec: {
      ...template,
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      activeDeadlineSeconds: ttlS,
      hostname: 'sandbox',
      dnsPolicy: 'None',
      dnsConfig: { nameservers: [NO_NAME_SERVER] },
      containers: [
        {
          name: CONTAINER,
          image,
          imagePullPolicy,
          command: firstProcess(ttlS + SLEEP_LONGER_S, limits.diskMb, preparation),
          workingDir: '/',
          resources: resources(limits, asked?.requests),
          securityContext: {
            allowPrivilegeEscalation: false,
            privileged: false,
            // An image whose user is not root gains nothing by these.
            capabilities: {
              drop: ['ALL'],
              ...(plan.separatesUsers &&
                template.securityContext.runAsNonRoot !== true && { add: [...OVER_TESTS_USER] }),
            },
          },
          volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        },
      ],
      volumes: [{ name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: `${String(tmpMb(limits))}Mi` } }],
    },
  };
}

/** As large as in a container of Docker: it is charged to the memory. */
function tmpMb({ diskMb, memoryMb }: SandboxLimits): number {
  return Math.floor(Math.min(diskMb, memoryMb / 4));
}

function resources(
  limits: SandboxLimits,
  requests: { readonly cpu?: string; readonly memory?: string } = {},
): NonNullable<PodSpec['containers'][number]['resources']> {
  const disk = `${String(limits.diskMb)}Mi`;
  const all = { cpu: String(limits.cpus), memory: `${String(limits.memoryMb)}Mi`, 'ephemeral-storage': disk };
  return { limits: all, requests: { ...all, ...requests } };
}

function ownedBy({ worker }: ClusterOptions): object {
  if (worker === undefined) return {};
  return { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: worker.name, uid: worker.uid }] };
}

const WORKER = 'bestk.worker';

/** Selects every pod of ours, whoever made it. */
export const OURS = `${LABEL.mark}=1`;

/** How long a pod whose time is over still says why to the process that waits for it. */
const SAID_MS = 60_000;

/** A label's value holds few characters, so it is a hash; the owner itself stands in the annotation of the same name. */
function hashed(owner: string): string {
  return createHash('sha256').update(owner).digest('hex').slice(0, 32);
}

/** Selects the pods of one process; of this one by default. */
export function podsOf(owner: string = OWNER): string {
  return `${OURS},${LABEL.owner}=${hashed(owner)}`;
}

/** Labels and annotations of a pod. */
export function podLabels(purpose: string, worker: WorkerPod | undefined): ObjectMeta {
  return {
    labels: {
      [LABEL.mark]: '1',
      [LABEL.owner]: hashed(OWNER),
      ...(worker && { [WORKER]: worker.uid }),
    },
    annotations: { [LABEL.purpose]: purpose, [LABEL.owner]: OWNER },
  };
}

/**
 * Whether nobody wants this pod any more: it expired by the cluster's clock, its process is dead, or it was made in the
 * same worker pod by a container before this one. A process beside us in this container, such as a command that somebody
 * started there, lives.
 */
export function isStale(pod: Pod, worker: WorkerPod | undefined, clusterMs: number): boolean {
  if (isExpired(pod, clusterMs)) return true;
  const { labels = {}, annotations = {} } = pod.metadata ?? {};
  const owner = annotations[LABEL.owner] ?? '';
  return (worker !== undefined && labels[WORKER] === worker.uid && !isNeighbour(owner)) || isDeadOwner(owner);
}

/** By the cluster's clock alone: this machine's may jump, and a living pod would be taken for old. */
function isExpired({ metadata, spec, status }: Pod, clusterMs: number): boolean {
  const since = status?.startTime ?? metadata?.creationTimestamp;
  const lifeS = spec?.activeDeadlineSeconds;
  if (since === undefined || lifeS === undefined) return false;
  return clusterMs > since.getTime() + lifeS * 1000 + SAID_MS;
}

/** An ext4 file system has one inode for every 16 KiB (mke2fs.conf, `inode_ratio`), so an entry uses up that much room. */
const ENTRIES_PER_MIB = 64;

/** Exit status of the first process when too many files were made. */
export const TOO_MANY_FILES = 97;

/** Where the first process leaves how the preparation ended. */
const RESULT = '/dev/shm/.bestk';

/*
 * The preparation begins at once: the node takes up to a second to tell that a container runs, which is about as long as it
 * takes. Its exit code goes into a pipe, so that whoever asks for it waits.
 *
 * The shell waits and reaps, and becomes the sleep when somebody kills its own (docker/sandbox.ts says why). A
 * child beside it counts files: the cluster's limit on disk counts bytes, and an empty file has none. It looks at the free
 * inodes of the node, which is cheap, and counts those of the container only when enough of them are gone. Whoever kills
 * that child has only the node's own protection to meet (eviction at `nodefs.inodesFree`).
 */
const SCRIPT = String.raw`
result=${RESULT} since=${RESULT}-since life=$1 most=$2
shift 2
if [ $# -gt 0 ]; then
  mkdir -m 700 "$result" && mkfifo "$result/code"
  { "$@" >"$result/out" 2>"$result/err"; echo $? >"$result/code"; } &
fi
trap '' HUP INT QUIT TERM
free() { df -iP / 2>/dev/null | while read -r _ _ _ n _; do echo "$n"; done | tail -n 1; }
count() { find / -xdev -cnewer "$since" 2>/dev/null | head -n "$most" | wc -l; }
{
  : >"$since"
  before=$(free)
  while sleep 3; do
    now=$(free)
    [ "$((before - now))" -ge "$most" ] && [ "$(count)" -ge "$most" ] && kill -USR1 1
  done
} 2>/dev/null &
trap 'exit ${String(TOO_MANY_FILES)}' USR1
sleep "$life" &
wait $! && exit 0
exec sleep "$life"`;

const COLLECT = String.raw`
until [ -p "$1/code" ]; do sleep 1; done
read -r code <"$1/code"
cat "$1/out"
cat "$1/err" >&2
rm -rf "$1"
exit "$code"`;

/** What ends, once, as the preparation did and says what it said. */
export const PREPARED = ['/bin/sh', '-c', COLLECT, 'sh', RESULT];

/**
 * Process 1 of a pod that lives for `lifeS` seconds and may hold as many new files as fit on `diskMb`; the preparation may
 * be empty.
 */
export function firstProcess(lifeS: number, diskMb: number, preparation: readonly string[]): string[] {
  return ['/bin/sh', '-c', SCRIPT, 'bestk', String(lifeS), String(diskMb * ENTRIES_PER_MIB), ...preparation];
}
