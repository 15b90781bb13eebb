import type { ExecRequest } from '../../../src/ports/sandbox.js';
import { BYTECODE_FOLDER } from '../tree/bytecode.js';

/**
 * Same for base and every candidate, so that a difference in outcome is the patch's: fixed hash seed, zone, locale. Git is told
 * that a repository of another user's is fine.
 */
export const SUITE_ENV: Readonly<Record<string, string>> = {
  PYTHONHASHSEED: '0',
  TZ: 'UTC',
  LC_ALL: 'C.UTF-8',
  PYTHONDONTWRITEBYTECODE: '',
  PYTHONPYCACHEPREFIX: BYTECODE_FOLDER,
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};

/**
 * Published SWE images keep the instance's interpreter in an environment that only an interactive shell activates;
 * these are the places R2E-Gym and SWE-bench use. A directory that is not there changes nothing.
 */
const WITH_INSTANCE_PATH = [
  'for d in /opt/miniconda3/envs/testbed/bin /root/.venv/bin; do [ -d "$d" ] && PATH="$d:$PATH"; done',
  'export PATH',
  'exec "$@"',
].join('; ');

/** The same request, run with the instance's interpreter first on PATH. */
export function inInstanceEnvironment(request: ExecRequest): ExecRequest {
  return {
    ...request,
    argv: ['sh', '-c', WITH_INSTANCE_PATH, 'sh', ...request.argv],
    env: { ...SUITE_ENV, ...request.env },
  };
}

const TAIL_CHARACTERS = 4_000;

/** End of what a command printed, both streams, at most 4,000 characters: evidence for people, never for a score. */
export function logTail(output: { readonly stdout: string; readonly stderr: string }): string {
  const half = TAIL_CHARACTERS / 2;
  const stderr = output.stderr.slice(-Math.max(half, TAIL_CHARACTERS - output.stdout.length));
  const stdout = output.stdout.slice(-(TAIL_CHARACTERS - stderr.length));
  return [stdout, stderr].filter((text) => text !== '').join('\n');
}
