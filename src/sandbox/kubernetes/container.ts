import { setTimeout as sleep } from 'node:timers/promises';
import { BestkError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { Ids, SandboxFile, SandboxLimits } from '../../ports/sandbox.js';
import type { Container, ExecPlan, Fate, RunningExec } from '../container/container.js';
import type { KubernetesClient } from './client.js';
import { startExec } from './exec.js';
import { clusterFailure, statusOf } from './failure.js';
import { stateOf, type PodState } from './pod-state.js';
import type { PodWatch } from './watch.js';
import { absolutePath, readInside, writeInside } from '../container/files.js';

const MIB = 1024 * 1024;
/** How long a node that does not answer is asked again before a command. */
const CONNECT_MS = 60_000;
/** How much later than the end of a command the cluster may say that the whole pod ended. */
const NEWS_MS = 3_000;
/** Longest wait for a command that says only that it ran. */
const ANSWER_MS = 10_000;
const NEVER = new AbortController().signal;

type Over = Extract<PodState, { kind: 'over' }>;

/** What a container needs of the cluster. */
export interface PodGround {
  readonly client: KubernetesClient;
  readonly watch: PodWatch;
  readonly limits: SandboxLimits;
  readonly remove: () => Promise<void>;
}

/** The container of a running pod. Files go through programs of the image, as the cluster has no other way. */
export class KubernetesContainer implements Container {
  constructor(
    private readonly ground: PodGround,
    readonly pod: string,
  ) {}

  async start(plan: ExecPlan): Promise<RunningExec> {
    const { client, limits, watch } = this.ground;
    const target = { pod: this.pod, maxFileBytes: limits.diskMb * MIB };
    // A node answers for a container that ended as for one that it cannot reach just now: only the latter is asked again.
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

  /** The cluster's own limit counts from the start of the pod. */
  async setDiskBaseline(): Promise<void> {
    await Promise.resolve();
  }

  /** The node evicts a pod that is over its limit; it looks every ten seconds or so. */
  async fillsDisk(_: number, stop: AbortSignal): Promise<boolean> {
    return this.ground.watch
      .until(this.pod, (pod) => (overOf(stateOf(pod))?.fate === 'out-of-disk' ? true : undefined), stop)
      .catch(() => false);
  }

  async fate(): Promise<Fate | null> {
    return (await this.#over())?.fate ?? null;
  }

  /** A node that is gone does not answer, and a container that is gone starts nothing; a slow one is alive. */
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

  /** The kubelet evicts pods before the node's disk is full, and an evicted pod is lost. */
  assertRoom(): Promise<void> {
    return Promise.resolve();
  }

  remove(): Promise<void> {
    return this.ground.remove();
  }

  /** A node that is lost takes its connections with it without a word, so that the end of the pod ends its commands too. */
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

  /** Rejects a moment after the pod has ended; never settles when told to stop. */
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

  /** How the pod ended, null when it goes on. */
  async #over(): Promise<Over | null> {
    const { watch } = this.ground;
    return watch.until(this.pod, (pod) => overOf(stateOf(pod)), AbortSignal.timeout(NEWS_MS)).catch(() => null);
  }

  /** What ended the pod says more than what became of its connections. */
  async #rethrow(error: unknown): Promise<never> {
    if (error instanceof BestkError && !(error instanceof SandboxLostError)) throw error;
    throw (await this.#over())?.error ?? clusterFailure(error);
  }
}

function overOf(state: PodState): Over | undefined {
  return state.kind === 'over' ? state : undefined;
}
