import type { V1ContainerStatus, V1NetworkPolicy, V1ObjectMeta, V1Pod, V1PodSpec } from '@kubernetes/client-node';
import { z } from 'zod';

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
