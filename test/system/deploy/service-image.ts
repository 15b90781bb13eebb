import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../../..');

/** The product's own image, as the tests build it. */
export const SERVICE_IMAGE = 'bestk/service:test';
/** How long building it from nothing may take. */
export const BUILD_MS = 1_200_000;

/** Docker's command line; what the builder says of itself goes to nobody. */
export function docker(...args: string[]): string {
  const env = { ...process.env, DOCKER_BUILDKIT: '0' };
  return execFileSync('docker', args, { cwd: root, env, encoding: 'utf8', stdio: 'pipe' }).trim();
}

/** Runs one of scripts/, which know by themselves when there is nothing to do. */
export function build(script: string): void {
  execFileSync('bash', [`scripts/${script}`], { cwd: root, stdio: 'pipe' });
}

/** Builds the image on Node and packages of this machine: no registry is asked. */
export function buildServiceImage(): void {
  build('node-image.sh');
  docker(
    ...['build', '-q', '--network', 'none', '--build-arg', 'NODE_IMAGE=bestk/node:20'],
    ...['-t', SERVICE_IMAGE, '.'],
  );
}

/** The sandboxes of a container: their owner is `<its host name>:…/<pid>/<start>`. */
export function sandboxesOf(hostname: string): string[] {
  const owners = docker('ps', '-a', '--filter', 'label=bestk', '--format', '{{.Label "bestk.owner"}}');
  return owners.split('\n').filter((owner) => owner.startsWith(`${hostname}:`));
}
