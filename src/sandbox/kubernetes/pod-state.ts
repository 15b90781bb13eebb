import type { ContainerStatus, Pod } from './options.js';
import {
  ImagePullError,
  SandboxEvictedError,
  SandboxExpiredError,
  SandboxOutOfMemoryError,
} from '../../core/errors/cluster-trouble.js';
import { BadInputError, type BestkError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { Fate } from '../container/container.js';
import { TOO_MANY_FILES } from './pod-spec.js';

/*
 * What a pod's status means to us, as a pure function: the one place that knows the cluster's reasons by name.
 *
 *   PodScheduled False, Unschedulable            waiting     until a node has room, or SandboxUnschedulableError
 *   ErrImagePull, ImagePullBackOff               waiting     ImagePullError once the kubelet has tried for a while
 *   ErrImageNeverPull, InvalidImageName          over        ImagePullError
 *   Create…Error, RunContainerError, StartError  over        BadInputError: the image, not the cluster
 *   OutOfcpu, OutOfpods, NodeAffinity, …         rejected    the node had changed since it was chosen: another pod
 *   OOMKilled                                    over        out of memory
 *   Evicted for its own disk                     over        out of disk
 *   Evicted otherwise, NodeLost, deleted         over        SandboxEvictedError
 *   exit 97 of the first process                 over        out of disk: too many files
 *   DeadlineExceeded, Completed                  over        SandboxExpiredError
 */

export type PodState =
  | { readonly kind: 'waiting'; readonly unschedulable: string | null; readonly pull: ImagePullError | null }
  | { readonly kind: 'running' }
  | { readonly kind: 'rejected'; readonly detail: string }
  | { readonly kind: 'over'; readonly error: BestkError; readonly fate: Fate | null };

const OWN_DISK = /exceed\w* (its local ephemeral|the total limit|the limit)|local storage usage exceeds/;
const REJECTED = /^(OutOf\w+|NodeAffinity|NodePorts|UnexpectedAdmissionError|Outof\w+|Preempting|NodeShutdown)$/;
const PULLING = /^(ErrImagePull|ImagePullBackOff|RegistryUnavailable)$/;
const NEVER_PULLED = /^(ErrImageNeverPull|InvalidImageName|ImageInspectError)$/;
const NEVER_STARTED = /^(CreateContainer\w*Error|RunContainerError)$/;
const NOT_THERE = /: not found|does not exist|manifest unknown|access denied|unauthorized|authorization failed/i;

/** State of a pod, or of one that is no more (null). */
export function stateOf(pod: Pod | null): PodState {
  if (pod === null) return over(new SandboxEvictedError('its pod was deleted'));
  if (pod.metadata?.deletionTimestamp !== undefined) return over(new SandboxEvictedError('its pod is being deleted'));
  const ended = podEnd(pod) ?? containerEnd(pod);
  if (ended !== null) return ended;
  if (containerOf(pod)?.state?.running !== undefined) return { kind: 'running' };
  return { kind: 'waiting', unschedulable: unschedulable(pod), pull: pullTrouble(pod) };
}

function containerOf({ status }: Pod): ContainerStatus | undefined {
  return status?.containerStatuses?.[0];
}

/** What the container waits for. */
function waitingFor(pod: Pod): { readonly reason: string; readonly message: string } {
  const { reason = '', message = reason } = containerOf(pod)?.state?.waiting ?? {};
  return { reason, message };
}

/** Content id of the image a pod runs, and the name by which any node can get that very content; null before it is known. */
export function imageOf(pod: Pod): { readonly id: string; readonly name: string } | null {
  const name = (containerOf(pod)?.imageID ?? '').replace(/^[a-z-]+:\/\//, '');
  const id = /sha256:[0-9a-f]{64}$/.exec(name)?.[0];
  return id === undefined ? null : { id, name };
}

function over(error: BestkError, fate: Fate | null = null): PodState {
  return { kind: 'over', error, fate };
}

function podEnd({ status }: Pod): PodState | null {
  const { reason = '', message = '', phase } = status ?? {};
  if (reason === '' || (phase !== 'Failed' && reason !== 'NodeLost')) return null;
  return failedFor(reason, message);
}

function failedFor(reason: string, message: string): PodState {
  if (reason === 'DeadlineExceeded') return over(new SandboxExpiredError('its time was over'));
  if (REJECTED.test(reason)) return { kind: 'rejected', detail: `${reason}: ${message}` };
  const fate = reason === 'Evicted' && OWN_DISK.test(message) ? 'out-of-disk' : null;
  return over(new SandboxEvictedError(`${reason}: ${message}`), fate);
}

function containerEnd(pod: Pod): PodState | null {
  const terminated = containerOf(pod)?.state?.terminated;
  if (terminated !== undefined) {
    return terminatedState(terminated.reason ?? '', terminated.message ?? '', terminated.exitCode);
  }
  const { reason, message } = waitingFor(pod);
  if (NEVER_PULLED.test(reason)) return over(new ImagePullError(imageAskedFor(pod), `${reason}: ${message}`, false));
  return NEVER_STARTED.test(reason) ? over(startFailure(message)) : null;
}

function imageAskedFor({ spec }: Pod): string {
  return spec?.containers[0]?.image ?? '';
}

function terminatedState(reason: string, message: string, exitCode: number): PodState {
  if (reason === 'OOMKilled')
    return over(new SandboxOutOfMemoryError('the kernel killed it for memory'), 'out-of-memory');
  if (reason === 'StartError' || reason === 'ContainerCannotRun') return over(startFailure(message));
  if (exitCode === TOO_MANY_FILES) return over(new SandboxLostError('it made too many files'), 'out-of-disk');
  if (reason === 'Completed') return over(new SandboxExpiredError('its time was over'));
  return over(new SandboxLostError(`its first process ended with ${String(exitCode)} (${reason})`));
}

function startFailure(message: string): BadInputError {
  const shell = /\/bin\/sh/.test(message) ? 'the image has no /bin/sh' : 'the image does not start';
  return new BadInputError(`${shell} (${message})`, { field: 'environment.image' });
}

function unschedulable({ status }: Pod): string | null {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  return scheduled?.status === 'False' ? (scheduled.message ?? scheduled.reason ?? 'no reason given') : null;
}

function pullTrouble(pod: Pod): ImagePullError | null {
  const { reason, message } = waitingFor(pod);
  if (!PULLING.test(reason)) return null;
  return new ImagePullError(imageAskedFor(pod), message, !NOT_THERE.test(message));
}
