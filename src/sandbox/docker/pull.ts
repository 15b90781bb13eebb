import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { z } from 'zod';
import { abortable, pause } from '../../core/async/time.js';
import { EngineDiskFullError, EngineUnavailableError, ImagePullError } from '../../core/errors/unavailable.js';
import { dockerFailure } from './engine.js';
import { backOffMs, TRIES } from '../../core/async/retries.js';

/** Even a layer of gigabytes reports progress continuously. */
const SILENCE_MS = 300_000;
const TELL_EVERY_MS = 10_000;
const LONGEST_LINE = 1024 * 1024;
const NOT_THERE =
  /manifest unknown|not found|does not exist|access denied|unauthorized|no basic auth|invalid reference|denied:/i;
const NEXT = 'Run `docker pull` for details; a private registry needs `docker login` as the user that runs bestk.';

export interface PullOptions {
  /** Folder of Docker's own `config.json`. */
  readonly configFolder: string;
  readonly say: (text: string) => void;
}

interface Progress {
  readonly id?: string;
  readonly error?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

/** Pulls an image, retrying transient failures. @throws ImagePullError, EngineDiskFullError, EngineUnavailableError */
export async function pullImage(
  docker: Docker,
  image: string,
  options: PullOptions,
  signal: AbortSignal,
): Promise<void> {
  options.say(`Pulling image ${image}.`);
  const start = performance.now();
  for (let attempt = 0; ; attempt += 1) {
    try {
      await pullOnce(docker, image, options, signal);
      options.say(`Pulled image ${image} in ${Math.round((performance.now() - start) / 1000)} s.`);
      return;
    } catch (error) {
      signal.throwIfAborted();
      const { failure, again } = pullFailure(error, image);
      if (!again || attempt + 1 === TRIES) throw failure;
      options.say(`${failure.message} Retrying.`);
      await pause(backOffMs(attempt + 2, null, Math.random), signal);
    }
  }
}

async function pullOnce(docker: Docker, image: string, options: PullOptions, signal: AbortSignal): Promise<void> {
  const authconfig = await credentialsFor(image, options.configFolder);
  const silence = new AbortController();
  const either = AbortSignal.any([signal, silence.signal]);
  const timer = setTimeout(() => {
    silence.abort(new Error('no progress in five minutes'));
  }, SILENCE_MS);
  try {
    const asked = docker.pull(image, { ...(authconfig && { authconfig }), abortSignal: either });
    const stream = (await abortable(asked, either)) as unknown as AsyncIterable<Buffer> & { destroy(): void };
    await abortable(followed(stream, teller(image, options.say, timer)), either).finally(() => {
      stream.destroy();
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the engine's progress stream to its end. @throws Error with the failure it reports */
async function followed(stream: AsyncIterable<Buffer>, onProgress: (progress: Progress) => void): Promise<void> {
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LONGEST_LINE) throw new EngineUnavailableError('its progress is no list of lines');
    for (const line of lines) onProgress(progressOf(line));
  }
}

function progressOf(line: string): Progress {
  if (line.trim() === '') return {};
  let progress: Progress;
  try {
    progress = JSON.parse(line) as Progress;
  } catch {
    throw new EngineUnavailableError(`its progress is not JSON: ${line.slice(0, 200)}`);
  }
  if (typeof progress.error === 'string') throw new Error(progress.error);
  return progress;
}

function teller(image: string, say: (text: string) => void, silence: NodeJS.Timeout) {
  const layers = new Map<string, { readonly current: number; readonly total: number }>();
  let told = performance.now();
  return ({ id = '', progressDetail }: Progress): void => {
    silence.refresh();
    const { current, total } = progressDetail ?? {};
    if (current !== undefined && total !== undefined) layers.set(id, { current, total });
    if (performance.now() - told < TELL_EVERY_MS) return;
    told = performance.now();
    const sum = (key: 'current' | 'total'): number => [...layers.values()].reduce((all, layer) => all + layer[key], 0);
    say(`Pulling image ${image}: ${Math.round(sum('current') / 1e6)} of ${Math.round(sum('total') / 1e6)} MB.`);
  };
}

/** @returns the failure as a BestkError, and whether the registry may recover: retries happen only here */
function pullFailure(error: unknown, image: string): { readonly failure: Error; readonly again: boolean } {
  if (error instanceof EngineUnavailableError) return { failure: error, again: false };
  const message = error instanceof Error ? error.message.trim() : String(error);
  if (/no space left on device/i.test(message)) {
    return { failure: new EngineDiskFullError(message), again: false };
  }
  const isOfSocket = typeof (error as { code?: unknown }).code === 'string';
  if (isOfSocket) return { failure: dockerFailure(error, { image }), again: false };
  const again = (error as { statusCode?: unknown }).statusCode !== 404 && !NOT_THERE.test(message);
  return { failure: new ImagePullError(image, message, false, NEXT), again };
}

const DOCKER_HUB = 'https://index.docker.io/v1/';

const DockerConfig = z.object({
  auths: z
    .record(z.string(), z.object({ auth: z.string().optional(), identitytoken: z.string().optional() }))
    .default({}),
});

/** Credentials that `docker login` stored in `config.json`; credential helpers are not supported. */
export async function credentialsFor(image: string, configFolder: string): Promise<object | undefined> {
  const registry = registryOf(image);
  const auths = await storedLogins(join(configFolder, 'config.json'));
  const login = auths[registry] ?? auths[`https://${registry}`];
  if (login === undefined) return undefined;
  if (login.identitytoken !== undefined) return { identitytoken: login.identitytoken, serveraddress: registry };
  const [, username, password] = /^([^:]*):([^]*)$/.exec(Buffer.from(login.auth ?? '', 'base64').toString()) ?? [];
  return username === undefined ? undefined : { username, password, serveraddress: registry };
}

async function storedLogins(file: string): Promise<z.infer<typeof DockerConfig>['auths']> {
  try {
    return DockerConfig.parse(JSON.parse(await readFile(file, 'utf8'))).auths;
  } catch {
    // If the file is missing or invalid, the registry reports whether it needs a login.
    return {};
  }
}

function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? first : DOCKER_HUB;
}
