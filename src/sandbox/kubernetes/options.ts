import type { V1ContainerStatus, V1NetworkPolicy, V1ObjectMeta, V1Pod, V1PodSpec } from '@kubernetes/client-node';

/** `key` alone tolerates any value of it; without an effect, any effect. */
export interface Toleration {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect?: string | undefined;
}

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
  readonly runtimeClass?: string | undefined;
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
  readonly pullSecrets: readonly string[];
  readonly pull: 'IfNotPresent' | 'Always' | 'Never';
  /** What the scheduler sets aside for a pod; undefined: its limit. */
  readonly cpuRequest?: number | undefined;
  readonly memoryRequestMb?: number | undefined;
  /** Refuse images whose user is root. */
  readonly nonRoot: boolean;
  /** Path of a profile on every node, from the kubelet's folder `seccomp`; undefined: the runtime's default. */
  readonly seccompProfile?: string | undefined;
  /** Pods that may wait for a node at once; more sandboxes wait here instead. */
  readonly pendingPods: number;
  /** Longest wait for a node or an image while no pod of ours runs. */
  readonly startS: number;
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
