import { setTimeout as sleep } from 'node:timers/promises';
import { imageOf, StartPatience, stateOf } from '../../../src/sandbox/kubernetes/failure.js';
import type { Pod } from '../../../src/sandbox/kubernetes/pod-spec.js';

/** Longer than the time between two looks at the clock. */
const LOOKED_MS = 1_200;
const spec = { containers: [{ name: 'sandbox', image: 'some/image:1' }] };

function podWith(status: object, metadata = {}): Pod {
  return { metadata, spec, status };
}

function containerIn(state: object): Pod {
  return podWith({ phase: 'Running', containerStatuses: [{ name: 'sandbox', image: '', imageID: '', state }] });
}

function waiting(reason: string, message: string): Pod {
  return containerIn({ waiting: { reason, message } });
}

describe('the state of a pod', () => {
  it.each([
    ['nothing known', podWith({}), { kind: 'waiting', unschedulable: null, pull: null }],
    ['running', containerIn({ running: {} }), { kind: 'running' }],
    [
      'no node',
      podWith({
        conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes' }],
      }),
      { kind: 'waiting', unschedulable: '0/1 nodes' },
    ],
    [
      'a registry that does not answer',
      waiting('ErrImagePull', 'dial tcp: lookup registry: no such host'),
      { kind: 'waiting', pull: { code: 'image-pull-failed', image: 'some/image:1', retryable: true } },
    ],
    [
      'a registry without the image',
      waiting('ImagePullBackOff', 'failed to resolve reference "x": docker.io/x:1: not found'),
      { kind: 'waiting', pull: { retryable: false } },
    ],
    [
      'an image that is never pulled',
      waiting('ErrImageNeverPull', 'not present'),
      { kind: 'over', error: { code: 'image-pull-failed', retryable: false }, fate: null },
    ],
    [
      'an image that wants root',
      waiting('CreateContainerConfigError', 'container has runAsNonRoot and image will run as root'),
      { kind: 'over', error: { code: 'bad-input', place: { field: 'environment.image' } } },
    ],
    ...[
      'failed to create containerd container: failed to generate container "a" spec: failed to generate seccomp spec opts: failed to load seccomp profile "/var/lib/kubelet/seccomp/bestk/sandbox-1.json": open: no such file or directory',
      'cannot load seccomp profile "/var/lib/kubelet/seccomp/bestk/sandbox-1.json": open: no such file or directory',
      'container create failed: opening seccomp profile (/var/lib/kubelet/seccomp/bestk/sandbox-1.json) failed: no such file',
    ].map((message): [string, Pod, object] => [
      'a node without the seccomp profile',
      waiting('CreateContainerError', message),
      {
        kind: 'over',
        error: {
          code: 'engine-unavailable',
          next: expect.stringContaining('deploy/kubernetes/seccomp.yaml') as string,
        },
      },
    ]),
    [
      'no shell',
      containerIn({ terminated: { reason: 'StartError', exitCode: 128, message: 'exec: "/bin/sh": stat /bin/sh' } }),
      { kind: 'over', error: { message: expect.stringContaining('the image has no /bin/sh') as string } },
    ],
    [
      'memory',
      containerIn({ terminated: { reason: 'OOMKilled', exitCode: 137 } }),
      { kind: 'over', error: { code: 'sandbox-oom-killed', retryable: true }, fate: 'out-of-memory' },
    ],
    [
      'its own disk',
      podWith({
        phase: 'Failed',
        reason: 'Evicted',
        message: 'Container sandbox exceeded its local ephemeral storage limit "64Mi". ',
      }),
      { kind: 'over', fate: 'out-of-disk' },
    ],
    [
      'too many files',
      containerIn({ terminated: { reason: 'Error', exitCode: 97 } }),
      { kind: 'over', fate: 'out-of-disk' },
    ],
    [
      'the disk of the node',
      podWith({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: ephemeral-storage. ' }),
      { kind: 'over', error: { code: 'sandbox-evicted' }, fate: null },
    ],
    [
      'a lost node',
      podWith({ phase: 'Running', reason: 'NodeLost' }),
      { kind: 'over', error: { code: 'sandbox-evicted' } },
    ],
    [
      'a drain',
      podWith({ phase: 'Running' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      { kind: 'over', error: { code: 'sandbox-evicted' }, fate: null },
    ],
    [
      'its deadline',
      podWith({ phase: 'Failed', reason: 'DeadlineExceeded' }),
      { kind: 'over', error: { code: 'sandbox-expired' }, fate: null },
    ],
    ['a full node', podWith({ phase: 'Failed', reason: 'OutOfcpu', message: 'no cpu' }), { kind: 'rejected' }],
    [
      'another end',
      containerIn({ terminated: { reason: 'Error', exitCode: 1 } }),
      { kind: 'over', error: { code: 'sandbox-lost' }, fate: null },
    ],
  ])('with %s', (_, pod, state) => {
    expect(stateOf(pod)).toMatchObject(state);
  });

  it('that is gone was taken away', () => {
    expect(stateOf(null)).toMatchObject({ kind: 'over', error: { code: 'sandbox-evicted' }, fate: null });
  });
});

describe('the image of a pod', () => {
  const id = `sha256:${'a'.repeat(64)}`;

  it.each([
    [id, { id, name: id }],
    [`docker.io/x/y@${id}`, { id, name: `docker.io/x/y@${id}` }],
    [`docker-pullable://x/y@${id}`, { id, name: `x/y@${id}` }],
    ['', null],
  ])('%s', (imageID, image) => {
    expect(imageOf(podWith({ containerStatuses: [{ name: 'sandbox', image: '', imageID }] }))).toEqual(image);
  });
});

describe('how long a pod may take to start', () => {
  let patience: StartPatience;

  beforeEach(() => {
    patience = new StartPatience(0, () => true, new AbortController().signal);
  });

  afterEach(() => {
    patience.stop();
  });

  const pull = (reason: string, message: string): void => {
    const state = stateOf(waiting(reason, message));
    patience.pulling(state.kind === 'waiting' ? state.pull : null);
  };
  const end = (): Promise<unknown> =>
    new Promise((resolve) => {
      patience.signal.addEventListener('abort', () => {
        resolve(patience.signal.reason);
      });
    });

  it('ends with the reason why the image cannot be pulled, also while the kubelet waits to try again', async () => {
    pull('ErrImagePull', 'dial tcp: lookup registry: no such host');
    pull('ImagePullBackOff', 'Back-off pulling image "some/image:1"');
    expect(await end()).toMatchObject({ message: expect.stringContaining('no such host') as string });
  });

  it('does not end for a pull that succeeded later', async () => {
    let isBusy = true;
    patience.stop();
    patience = new StartPatience(1, () => isBusy, new AbortController().signal);
    pull('ErrImagePull', 'dial tcp: lookup registry: no such host');
    pull('ContainerCreating', '');
    isBusy = false;
    expect(await end()).toMatchObject({ code: 'sandbox-unschedulable' });
  });

  it('does not count a pull that succeeded later', async () => {
    pull('ErrImagePull', 'dial tcp: lookup registry: no such host');
    pull('ContainerCreating', '');
    await sleep(LOOKED_MS);
    expect(patience.signal.aborted).toBe(false);
  });
});
