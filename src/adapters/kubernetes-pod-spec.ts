import type { Pod, PodSpec } from './kubernetes-objects.js';
import type { SandboxLimits } from '../ports/sandbox.js';
import { firstProcess } from './kubernetes-first-process.js';
import type { ClusterOptions } from './kubernetes-options.js';
import { podLabels } from './kubernetes-labels.js';

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
  readonly limits: SandboxLimits;
  readonly ttlS: number;
  /** Command that begins with the pod; may be empty. */
  readonly preparation: readonly string[];
}

/** A pod that has no token, no privilege and no name to ask for, and that the cluster ends after `ttlS` seconds. */
export function podOf({ name, image, purpose, limits, ttlS, preparation }: PodPlan, options: ClusterOptions): Pod {
  return {
    metadata: { name, ...podLabels(purpose, options.worker), ...ownedBy(options) },
    spec: {
      ...placement(options),
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 0,
      activeDeadlineSeconds: ttlS,
      hostname: 'sandbox',
      dnsPolicy: 'None',
      dnsConfig: { nameservers: [NO_NAME_SERVER] },
      securityContext: { seccompProfile: { type: 'RuntimeDefault' }, ...(options.nonRoot && { runAsNonRoot: true }) },
      containers: [
        {
          name: CONTAINER,
          image,
          imagePullPolicy: options.pull,
          command: firstProcess(ttlS + SLEEP_LONGER_S, limits.diskMb, preparation),
          workingDir: '/',
          resources: resources(limits, options),
          securityContext: { allowPrivilegeEscalation: false, privileged: false, capabilities: { drop: ['ALL'] } },
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

function placement({ runtimeClass, nodeSelector, tolerations, pullSecrets }: ClusterOptions): Partial<PodSpec> {
  return {
    ...(runtimeClass === undefined ? {} : { runtimeClassName: runtimeClass }),
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector: { ...nodeSelector } }),
    ...(tolerations.length > 0 && {
      tolerations: tolerations.map(({ key, value, effect }) => ({
        key,
        ...(value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value }),
        ...(effect === undefined ? {} : { effect }),
      })),
    }),
    ...(pullSecrets.length > 0 && { imagePullSecrets: pullSecrets.map((name) => ({ name })) }),
  };
}

function resources(
  limits: SandboxLimits,
  { cpuRequest, memoryRequestMb }: ClusterOptions,
): NonNullable<PodSpec['containers'][number]['resources']> {
  const disk = `${String(limits.diskMb)}Mi`;
  return {
    limits: { cpu: String(limits.cpus), memory: `${String(limits.memoryMb)}Mi`, 'ephemeral-storage': disk },
    requests: {
      cpu: String(cpuRequest ?? limits.cpus),
      memory: `${String(memoryRequestMb ?? limits.memoryMb)}Mi`,
      'ephemeral-storage': disk,
    },
  };
}

function ownedBy({ worker }: ClusterOptions): object {
  if (worker === undefined) return {};
  return { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: worker.name, uid: worker.uid }] };
}
