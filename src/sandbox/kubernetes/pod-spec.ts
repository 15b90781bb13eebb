import type { V1ContainerStatus, V1NetworkPolicy, V1ObjectMeta, V1Pod, V1PodSpec } from '@kubernetes/client-node';
import { z } from 'zod';
import { createHash } from 'node:crypto';
import { requireImageReference } from '../../core/run/issue.js';
import type { SandboxLimits } from '../../ports/sandbox.js';
import { BYTES_PER_ENTRY, OVER_TESTS_USER, shmBytes, SYSTEM_PATH, tmpBytes } from '../container/container.js';
import { isDeadOwner, isNeighbour, LABEL, OWNER } from '../container/sandbox-owner.js';
import { SECCOMP_PROFILE_PATH } from '../container/seccomp-profile.js';

const Quantity = z.union([z.string(), z.number().transform(String)]);

/**
 * The user's additions to every sandbox's pod, in the field names of a PodSpec; pull policy and requests are the
 * container's. bestk sets everything else: fields that could weaken isolation are refused.
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
  /** Resources that the scheduler reserves for a pod; absent: its limits. */
  resources: z
    .strictObject({ requests: z.strictObject({ cpu: Quantity.exactOptional(), memory: Quantity.exactOptional() }) })
    .exactOptional(),
  securityContext: z
    .strictObject({
      /** Refuse images whose user is root. */
      runAsNonRoot: z.boolean().exactOptional(),
      /** By default bestk's own profile, which has to be on every node. */
      seccompProfile: z
        .strictObject({ type: z.enum(['RuntimeDefault', 'Localhost']), localhostProfile: z.string().exactOptional() })
        .default({ type: 'Localhost', localhostProfile: SECCOMP_PROFILE_PATH }),
    })
    .prefault({}),
});
export type PodTemplate = z.infer<typeof PodTemplate>;

/** The pod that this process runs in. If it owns its sandboxes' pods, the cluster removes them with it. */
export interface WorkerPod {
  readonly name: string;
  readonly uid: string;
}

/** The cluster, and settings of every sandbox's pod. */
export interface ClusterOptions {
  /** Path of a kubeconfig; undefined: the account of the pod that this process runs in, or else `~/.kube/config`. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  /** Undefined: that of the context or of the account. */
  readonly namespace?: string | undefined;
  readonly pod: PodTemplate;
  /** Longest wait for a node or an image while no pod of bestk runs; 600 by default. */
  readonly startS?: number;
  readonly worker?: WorkerPod | undefined;
}

/** The plain wire data of a type that the SDK declares as a class. */
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

/** Name of a pod's only container. */
export const CONTAINER = 'sandbox';

/** Lets the cluster's deadline end the pod first, which records the reason. */
const SLEEP_LONGER_S = 60;
/** No server listens there, so names are not resolved through the cluster's DNS. */
const NO_NAME_SERVER = '127.0.0.1';

export interface PodPlan {
  readonly name: string;
  readonly image: string;
  readonly purpose: string;
  readonly separatesUsers: boolean;
  readonly limits: SandboxLimits;
  readonly ttlS: number;
  /** Command that starts with the pod; may be empty. */
  readonly preparation: readonly string[];
  /** Whether the worker, if there is one, owns the pod. The cluster deletes pods whose owner is not in their namespace. */
  readonly isOwned: boolean;
}

/**
 * A pod without a token, privileges or DNS, which the cluster ends after `ttlS` seconds.
 * @throws BadInputError for an invalid image name
 */
export function podOf(plan: PodPlan, options: ClusterOptions): Pod {
  const { name, image, purpose, limits, ttlS, preparation } = plan;
  const { imagePullPolicy, resources: asked, ...template } = options.pod;
  requireImageReference(image);
  return {
    metadata: { name, ...podLabels(purpose, options.worker), ...(plan.isOwned && ownedBy(options)) },
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
          // The kubelet replaces `$(NAME)`, and `$$` by `$`.
          command: firstProcess(ttlS + SLEEP_LONGER_S, limits.diskMb, preparation).map((word) =>
            word.replaceAll('$', () => '$$'),
          ),
          workingDir: '/',
          resources: resources(limits, asked?.requests),
          securityContext: {
            allowPrivilegeEscalation: false,
            privileged: false,
            // These have no effect if the image's user is not root.
            capabilities: {
              drop: ['ALL'],
              ...(plan.separatesUsers &&
                template.securityContext.runAsNonRoot !== true && { add: [...OVER_TESTS_USER] }),
            },
          },
          volumeMounts: [
            { name: 'tmp', mountPath: '/tmp' },
            { name: 'shm', mountPath: '/dev/shm' },
          ],
        },
      ],
      volumes: [
        { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: String(tmpBytes(limits)) } },
        { name: 'shm', emptyDir: { medium: 'Memory', sizeLimit: String(shmBytes(limits)) } },
      ],
    },
  };
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

/** Selects all pods of bestk, from any process. */
export const OURS = `${LABEL.mark}=1`;

/** How long an expired pod is kept, so that the process waiting for it can read its status. */
const SAID_MS = 60_000;

/**
 * Hashes the owner, since label values are limited in length and characters; the annotation of the same name has it in
 * full.
 */
function hashed(owner: string): string {
  return createHash('sha256').update(owner).digest('hex').slice(0, 32);
}

/** Selects the pods of one process; by default of this one. */
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
 * Whether the pod can be removed: it expired by the cluster's clock, its process is dead, or an earlier container of
 * the same worker pod made it. Other processes in this container, such as a command started by a person, are alive.
 */
export function isStale(pod: Pod, worker: WorkerPod | undefined, clusterMs: number): boolean {
  if (isExpired(pod, clusterMs)) return true;
  const { labels = {}, annotations = {} } = pod.metadata ?? {};
  const owner = annotations[LABEL.owner] ?? '';
  return (worker !== undefined && labels[WORKER] === worker.uid && !isNeighbour(owner)) || isDeadOwner(owner);
}

/** Uses only the cluster's clock: if this machine's jumped, a pod in use would look expired. */
function isExpired({ metadata, spec, status }: Pod, clusterMs: number): boolean {
  const since = status?.startTime ?? metadata?.creationTimestamp;
  const lifeS = spec?.activeDeadlineSeconds;
  if (since === undefined || lifeS === undefined) return false;
  return clusterMs > since.getTime() + lifeS * 1000 + SAID_MS;
}

const ENTRIES_PER_MIB = 1_048_576 / BYTES_PER_ENTRY;

/** Exit status of the first process after too many files were made. */
export const TOO_MANY_FILES = 97;

/** Directory in which the first process leaves the result of the preparation. */
const RESULT = '/dev/shm/.bestk';

/*
 * The node mounts volumes without the sticky bit, so that any user could replace the files of another.
 *
 * The preparation starts at once: the node takes up to a second to report that a container runs, about as long as the
 * preparation itself. Its exit code goes through a pipe, so that a reader waits for it.
 *
 * Its arguments include what the agent must not know (the set-up patch, the names of hidden tests), and every process
 * in the container may read those of all others in /proc. So the first process replaces itself by `WATCH`, and the
 * preparation's own process keeps the pipe open until it has ended.
 */
const BEGIN = String.raw`
watch=$1 life=$2 most=$3
shift 3
chmod 1777 /tmp /dev/shm 2>/dev/null
if [ $# -gt 0 ]; then
  mkdir -m 700 ${RESULT} && mkfifo ${RESULT}/code
  { "$@" >${RESULT}/out 2>${RESULT}/err; code=$?; exec >${RESULT}/code; echo "$code"; } &
fi
exec /bin/sh -c "$watch" bestk "$life" "$most"`;

/*
 * The shell waits and reaps, and execs a sleep if its own is killed (see docker/limits.ts). A child process counts
 * files, since the cluster's disk limit counts bytes and an empty file has none. It polls the node's free inodes, which
 * is cheap, and counts the container's files only when enough inodes are gone. Code that kills this child is still
 * subject to the node's own protection (eviction at `nodefs.inodesFree`).
 */
const WATCH = String.raw`
since=${RESULT}-since life=$1 most=$2 image=$PATH
# It goes on after patches were applied, maybe to folders of the image's own PATH.
PATH=${SYSTEM_PATH}
command -v sleep >/dev/null || PATH=$PATH:$image
[ ! -d ${RESULT} ] || : >${RESULT}/begun
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
until [ -e "$1/begun" ]; do sleep 1; done
code=$(cat "$1/code")
cat "$1/out"
cat "$1/err" >&2
rm -rf "$1"
exit "$code"`;

/** A command that waits for the preparation and repeats its output and exit code; can be run once. */
export const PREPARED = ['/bin/sh', '-c', COLLECT, 'sh', RESULT];

/**
 * Process 1 of a pod that lives for `lifeS` seconds and may hold as many new files as fit on `diskMb`; the preparation
 * may be empty.
 */
export function firstProcess(lifeS: number, diskMb: number, preparation: readonly string[]): string[] {
  const most = String(diskMb * ENTRIES_PER_MIB);
  return ['/bin/sh', '-c', BEGIN, 'bestk', WATCH, String(lifeS), most, ...preparation];
}
