import type { Sandbox, SandboxLimits } from '../ports/sandbox.js';
import { connectDocker } from './docker-engine.js';
import { DockerImages, type ImageOptions } from './docker-images.js';
import { DockerSandbox } from './docker-sandbox.js';
import type { ClusterOptions } from './kubernetes-options.js';
import type { MachineRoom } from '../ports/machine-room.js';
import { KubernetesSandbox } from './kubernetes-sandbox.js';
import { RoomGate } from './room-gate.js';

export interface SandboxSettings extends SandboxLimits {
  readonly engine: 'docker' | 'kubernetes';
  readonly dockerHost: string | undefined;
  readonly cluster: ClusterOptions;
  readonly concurrency: number;
  readonly idleSessions: number;
  readonly ttlS: number;
  readonly pulling: Omit<ImageOptions, 'room'>;
  readonly room: MachineRoom;
  readonly warn: (text: string) => void;
}

/** Sandboxes on the engine that the settings name. */
export function createSandbox(settings: SandboxSettings): Sandbox {
  const { engine, dockerHost, cluster, concurrency, idleSessions, ttlS, room, warn, pulling, ...limits } = settings;
  const options = { concurrency, idleSessions, ttlS, limits };
  if (engine === 'kubernetes')
    return new KubernetesSandbox({ ...options, gate: new RoomGate({ room, warn }), cluster, warn });
  const images = new DockerImages(connectDocker(dockerHost), { ...pulling, room });
  const gate = new RoomGate({ room, warn, makeRoom: () => images.makeRoom() });
  return new DockerSandbox({ ...options, gate, images, ...(dockerHost === undefined ? {} : { dockerHost }) });
}
