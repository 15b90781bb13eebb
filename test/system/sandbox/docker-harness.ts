import Docker from 'dockerode';
import { DockerSandbox, type DockerSandboxOptions } from '../../../src/sandbox/docker/sandbox.js';
import { LABEL, OWNER } from '../../../src/sandbox/container/sandbox-owner.js';
import { limits } from '../../fixtures/sandbox-commands.js';

export { go, limits, sh, spec } from '../../fixtures/sandbox-commands.js';
export const docker = new Docker();

export function dockerSandbox(options: Partial<DockerSandboxOptions> = {}): DockerSandbox {
  return new DockerSandbox({ concurrency: 4, limits, ttlS: 600, ...options });
}

/** Ids of the containers this process made, in whatever state; `owner` names another process. */
export async function containersOf(owner: string = OWNER): Promise<string[]> {
  const filters = { label: [`${LABEL.mark}=1`, `${LABEL.owner}=${owner}`] };
  return (await docker.listContainers({ all: true, filters })).map(({ Id }) => Id);
}

/** Ids of the images with a repository made ready that a process keeps. */
export async function preparedImagesOf(owner: string): Promise<string[]> {
  const filters = { label: ['bestk.prepared=1', `${LABEL.owner}=${owner}`] };
  return (await docker.listImages({ filters })).map(({ Id }) => Id);
}
